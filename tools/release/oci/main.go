// Command oci writes an OCI image layout with one program for several
// platforms, without a registry and without a base image: the programs are
// static, run as an unprivileged user, and take the certificates of those they
// talk to from where Kubernetes mounts them.
//
// The layout depends on nothing but the programs and the flags, so that two
// builds of one commit have the same digest.
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nonroot is the user of the images, as in config/.
const nonroot = "65532:65532"

func main() {
	name := flag.String("name", "", "name of the program")
	version := flag.String("version", "", "version, for the labels")
	commit := flag.String("commit", "", "commit, for the labels")
	created := flag.Int64("created", 0, "seconds since 1970 that the image claims as its time; the commit's, to be reproducible")
	out := flag.String("out", "", "folder of the layout; replaced if it is there")
	flag.Parse()
	digest, err := build(*name, *version, *commit, time.Unix(*created, 0).UTC(), *out, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "oci:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

// build takes programs as PLATFORM=FILE, for example linux/arm64=dist/trigger.
func build(name, version, commit string, created time.Time, out string, programs []string) (v1.Hash, error) {
	if name == "" || out == "" || len(programs) == 0 {
		return v1.Hash{}, fmt.Errorf("--name, --out and at least one PLATFORM=FILE are needed")
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, program := range programs {
		platform, file, ok := strings.Cut(program, "=")
		if !ok {
			return v1.Hash{}, fmt.Errorf("%q: write PLATFORM=FILE", program)
		}
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("%q: %w", program, err)
		}
		image, err := imageOf(name, version, commit, created, *p, file)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("image for %s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: p}})
	}
	if err := os.RemoveAll(out); err != nil {
		return v1.Hash{}, err
	}
	if _, err := layout.Write(out, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: index, Descriptor: v1.Descriptor{Annotations: names(name, version)},
	})); err != nil {
		return v1.Hash{}, fmt.Errorf("write %s: %w", out, err)
	}
	return index.Digest()
}

// names are what the image is called once it is loaded from the layout:
// containerd reads the first, skopeo and podman the second.
func names(name, version string) map[string]string {
	return map[string]string{
		"io.containerd.image.name":          "docker.io/etcdroll/" + name + ":" + version,
		"org.opencontainers.image.ref.name": version,
	}
}

func imageOf(name, version, commit string, created time.Time, p v1.Platform, file string) (v1.Image, error) {
	content, err := layerOf(name, file, created)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "etcdroll " + version}}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, describe(config.DeepCopy(), name, version, commit, created, p))
}

func describe(config *v1.ConfigFile, name, version, commit string, created time.Time, p v1.Platform) *v1.ConfigFile {
	config.Architecture, config.OS, config.Variant = p.Architecture, p.OS, p.Variant
	config.Created = v1.Time{Time: created}
	config.Config = v1.Config{
		Entrypoint: []string{"/" + name}, User: nonroot, WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "etcdroll " + name,
			"org.opencontainers.image.version":  version,
			"org.opencontainers.image.revision": commit,
			"org.opencontainers.image.source":   "https://github.com/etcdroll/etcdroll",
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return config
}

// layerOf is a tar of the program and the names of its user, all of the same
// time.
func layerOf(name, file string, created time.Time) ([]byte, error) {
	program, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name string
		mode int64
		body []byte
	}{
		{"etc/passwd", 0o644, []byte("nonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{"etc/group", 0o644, []byte("nonroot:x:65532:\n")},
		{name, 0o755, program},
	} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.body)), ModTime: created, Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
