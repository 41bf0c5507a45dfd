// Package binaries builds the programs of the local cluster from the pinned
// modules below this directory and keeps them in a cache outside the checkout.
package binaries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Binary is one program: the module that pins it, its main package and the
// linker flags. All flags are part of the cache key.
type Binary struct {
	Name    string // as asked for on the command line and in file names
	Module  string // directory below this package
	Package string // import path of the main package
	LDFlags string
}

const (
	versionVar = "k8s.io/component-base/version"
	stripped   = "-s -w"
	// Clients such as Knative read the server's version and refuse v0.0.0.
	kubernetesLDFlags = stripped +
		" -X " + versionVar + ".gitVersion=v1.37.2" +
		" -X " + versionVar + ".gitMajor=1" +
		" -X " + versionVar + ".gitMinor=37" +
		" -X " + versionVar + ".gitCommit=unknown" +
		" -X " + versionVar + ".buildDate=1970-01-01T00:00:00Z"
)

// Catalog lists every program of the cluster, in the order in which they are built: etcd first,
// because it is quick.
var Catalog = []Binary{
	etcd("etcd-v3.6.16", "etcd-v3.6"),
	etcd("etcd-v3.7.3", "etcd-v3.7"),
	etcd("etcd-v3.5.35", "etcd-v3.5"),
	etcd("etcd-v3.5.24", "etcd-v3.5-old"),
	kubernetes("kube-apiserver"),
	kubernetes("kube-controller-manager"),
	kubernetes("kube-scheduler"),
	kubernetes("kubectl"),
}

func etcd(name, module string) Binary {
	return Binary{Name: name, Module: module, Package: "go.etcd.io/etcd/server/v3", LDFlags: stripped}
}

func kubernetes(name string) Binary {
	return Binary{Name: name, Module: "kubernetes", Package: "k8s.io/kubernetes/cmd/" + name, LDFlags: kubernetesLDFlags}
}

func (b *Builder) find(name string) (Binary, error) {
	known := slices.Concat(b.Catalog, b.Extra)
	i := slices.IndexFunc(known, func(b Binary) bool { return b.Name == name })
	if i < 0 {
		return Binary{}, fmt.Errorf("no binary %q in the catalog", name)
	}
	return known[i], nil
}

// CacheDir is where built programs are kept: $ETCDROLL_CACHE, else etcdroll
// below $XDG_CACHE_HOME or $HOME/.cache, each with bin below it.
func CacheDir() (string, error) {
	if dir := os.Getenv("ETCDROLL_CACHE"); dir != "" {
		abs, err := filepath.Abs(dir)
		return filepath.Join(abs, "bin"), err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory (set ETCDROLL_CACHE): %w", err)
	}
	return filepath.Join(base, "etcdroll", "bin"), nil
}

// SourceDir finds the checkout's test/local/binaries: from the working
// directory upwards, then from the running program upwards, then where this
// file was compiled.
func SourceDir() (string, error) {
	starts := []string{}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		starts = append(starts, filepath.Dir(file))
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			for _, below := range []string{"test/local/binaries", "binaries"} {
				candidate := filepath.Join(dir, below)
				if _, err := os.Stat(filepath.Join(candidate, "kubernetes", "go.mod")); err == nil {
					return candidate, nil
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("test/local/binaries not found: run inside a checkout of etcdroll")
}
