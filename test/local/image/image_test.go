package image

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	name, programs, err := Parse("registry.local/etcd@sha256:0123=etcd:/bin/a b,/bin/ctl")
	if err != nil || name != "registry.local/etcd@sha256:0123" || !reflect.DeepEqual(programs, []string{"etcd:/bin/a b", "ctl:/bin/ctl"}) {
		t.Errorf("got %q %q %v", name, programs, err)
	}
	for _, bad := range []string{"", "name", "name=", "=path", "name=a,,b"} {
		if _, _, err := Parse(bad); err == nil {
			t.Errorf("Parse(%q) was accepted", bad)
		}
	}
}

func TestResolve(t *testing.T) {
	program := filepath.Join(t.TempDir(), "etcd-v3.6.16-abc")
	if err := os.WriteFile(program, []byte("one"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := NewRegistry(map[string][]string{
		"registry.local:5000/etcd:v3.6.16":     {"etcd:" + program},
		"registry.local/etcd@sha256:0123":      {program + " --fixed"},
		"registry.local/etcd:no-such-file-yet": {program + "-later"},
	})
	img, err := r.Resolve("registry.local:5000/etcd:v3.6.16")
	if err != nil {
		t.Fatal(err)
	}
	if img.Programs["etcd"] != program || !reflect.DeepEqual(img.Entrypoint, []string{"/usr/local/bin/etcd"}) {
		t.Errorf("image = %+v", img)
	}
	if !strings.HasPrefix(img.ID, "registry.local:5000/etcd@sha256:") {
		t.Errorf("id = %s", img.ID)
	}
	byDigest, err := r.Resolve("registry.local/etcd@sha256:0123")
	if err != nil || !reflect.DeepEqual(byDigest.Entrypoint, []string{"/usr/local/bin/etcd-v3.6.16-abc", "--fixed"}) {
		t.Errorf("image = %+v, %v", byDigest, err)
	}
	for _, missing := range []string{"registry.local/etcd:v9", "registry.local/etcd:no-such-file-yet"} {
		if _, err := r.Resolve(missing); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("Resolve(%q): err = %v", missing, err)
		}
	}
	if err := os.WriteFile(program, []byte("another"), 0o755); err != nil {
		t.Fatal(err)
	}
	if again, err := r.Resolve("registry.local:5000/etcd:v3.6.16"); err != nil || again.ID == img.ID {
		t.Errorf("a rebuilt program kept its id %s, %v", again.ID, err)
	}
}
