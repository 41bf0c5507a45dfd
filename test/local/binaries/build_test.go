package binaries

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// builder makes a builder for a module with one small program.
func builder(t *testing.T) *Builder {
	t.Helper()
	source := t.TempDir()
	for file, content := range map[string]string{
		"go.mod":  "module example.test/hello\n\ngo 1.26.0\n",
		"go.sum":  "",
		"main.go": "package main\n\nvar text = \"plain\"\n\nfunc main() { println(text) }\n",
	} {
		if err := os.MkdirAll(filepath.Join(source, "hello"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(source, "hello", file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &Builder{
		Catalog: []Binary{{Name: "hello", Module: "hello", Package: "example.test/hello", LDFlags: "-X main.text=linked"}},
		Source:  source, Cache: filepath.Join(t.TempDir(), "bin"), Progress: &lines{},
	}
}

// lines is a writer for several goroutines.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func TestConcurrentCallersBuildOnce(t *testing.T) {
	b := builder(t)
	paths := make([]string, 4)
	var callers sync.WaitGroup
	for i := range paths {
		callers.Go(func() {
			path, err := b.Build(t.Context(), "hello")
			if err != nil {
				t.Error(err)
			}
			paths[i] = path
		})
	}
	callers.Wait()
	if progress := b.Progress.(*lines).String(); strings.Count(progress, "built hello in ") != 1 {
		t.Errorf("progress:\n%s", progress)
	}
	for _, path := range paths {
		if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != "linked\n" {
			t.Errorf("%s: %q, %v", path, out, err)
		}
	}
}

func TestKeyFollowsEveryInput(t *testing.T) {
	b := builder(t)
	seen := map[string]string{}
	check := func(what string) {
		t.Helper()
		path, err := b.Path("hello")
		if err != nil {
			t.Fatal(err)
		}
		if other, known := seen[path]; known {
			t.Errorf("%s: same path as %s", what, other)
		}
		seen[path] = what
	}
	check("at first")
	b.Catalog[0].LDFlags = "-s"
	check("other flags")
	b.Catalog[0].Package = "example.test/hello/other"
	check("another package")
	if err := os.WriteFile(filepath.Join(b.Source, "hello", "go.sum"), []byte("x v1 h1:y=\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("another go.sum")
}

func TestMissingNamesWhatWasNotBuilt(t *testing.T) {
	b := builder(t)
	missing := func() string {
		names, err := b.Missing(b.Catalog)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, ",")
	}
	if got := missing(); got != "hello" {
		t.Errorf("before: %q", got)
	}
	if _, err := b.Each(t.Context(), b.Catalog); err != nil {
		t.Fatal(err)
	}
	if got := missing(); got != "" {
		t.Errorf("after: %q", got)
	}
}

func TestAFailedBuildLeavesNothingInTheCache(t *testing.T) {
	b := builder(t)
	if err := os.WriteFile(filepath.Join(b.Source, "hello", "main.go"), []byte("package main\n\nfunc main() { undefined() }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	path, err := b.Build(t.Context(), "hello")
	if err == nil || !strings.Contains(err.Error(), "undefined") {
		t.Errorf("err = %v, want the compiler's message", err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 || !strings.HasSuffix(left[0], ".lock") {
		t.Errorf("in the cache: %v", left)
	}
}

func TestAssetsArePreferredForKubernetesOnly(t *testing.T) {
	b := builder(t)
	b.Catalog = Catalog
	b.Assets = t.TempDir()
	for _, name := range []string{"kube-apiserver", "etcd", "etcd-v3.6.16"} {
		if err := os.WriteFile(filepath.Join(b.Assets, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := b.Path("kube-apiserver"); err != nil || path != filepath.Join(b.Assets, "kube-apiserver") {
		t.Errorf("kube-apiserver: %s, %v", path, err)
	}
	real, err := SourceDir()
	if err != nil {
		t.Fatal(err)
	}
	b.Source = real
	for _, name := range []string{"kube-scheduler", "etcd-v3.6.16"} { // not there, and never taken from there
		if path, err := b.Path(name); err != nil || filepath.Dir(path) != b.Cache {
			t.Errorf("%s: %s, %v", name, path, err)
		}
	}
}
