package setting

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheMachineIsDescribed(t *testing.T) {
	if text := Machine(); !strings.Contains(text, " cores (") || !strings.Contains(text, "GiB of memory") || !strings.Contains(text, "go1.") {
		t.Errorf("%q", text)
	}
}

func TestACommitWithChangesIsMarked(t *testing.T) {
	root := t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write("measured")
	run("init", "-q")
	run("add", ".")
	run("commit", "-q", "--no-gpg-sign", "-m", "first")
	clean, err := Commit(t.Context(), root, "measured")
	if err != nil || len(clean) != 12 {
		t.Fatalf("%q, %v", clean, err)
	}
	write("another")
	if got, err := Commit(t.Context(), root, "measured"); err != nil || got != clean {
		t.Errorf("a change elsewhere gives %q, %v; want %q", got, err, clean)
	}
	if err := os.WriteFile(filepath.Join(root, "measured"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Commit(t.Context(), root, "measured"); err != nil || got != clean+"+" {
		t.Errorf("a change gives %q, %v; want %s+", got, err, clean)
	}
	if got, err := Commit(t.Context(), filepath.Join(root, "nowhere")); err == nil {
		t.Errorf("no checkout gives %q", got)
	}
}
