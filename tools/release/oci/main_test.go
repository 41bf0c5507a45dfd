package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func program(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTwoBuildsAreTheSameAndAnotherProgramIsNot(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	digest := func(content, commit string) v1.Hash {
		h, err := build("trigger", "v1", commit, at, filepath.Join(t.TempDir(), "out"), []string{"linux/amd64=" + program(t, content), "linux/arm64=" + program(t, content)})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := digest("a", "c")
	if again := digest("a", "c"); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	for name, other := range map[string]v1.Hash{"program": digest("b", "c"), "commit": digest("a", "d")} {
		if other == first {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

func TestLayoutHoldsBothPlatformsAndRunsAsNobody(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	if _, err := build("trigger", "v1", "c", time.Unix(1, 0).UTC(), out, []string{"linux/amd64=" + program(t, "a"), "linux/arm64=" + program(t, "b")}); err != nil {
		t.Fatal(err)
	}
	top, err := layout.ImageIndexFromPath(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v, %v", manifest, err)
	}
	if got := manifest.Manifests[0].Annotations["io.containerd.image.name"]; got != "docker.io/etcdroll/trigger:v1" {
		t.Errorf("containerd would call it %q", got)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.IndexManifest()
	if err != nil || len(inner.Manifests) != 2 {
		t.Fatalf("%v, %v", inner, err)
	}
	for _, m := range inner.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Config.User != nonroot || config.Architecture != m.Platform.Architecture || config.Config.Entrypoint[0] != "/trigger" {
			t.Errorf("%+v for %v", config.Config, m.Platform)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for name, programs := range map[string][]string{"no platform": {"file"}, "not a platform": {"a/b/c/d=file"}, "no file": {"linux/amd64=/does/not/exist"}, "none": nil} {
		if _, err := build("trigger", "v1", "c", time.Unix(1, 0), filepath.Join(t.TempDir(), "out"), programs); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
