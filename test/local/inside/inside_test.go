package inside

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMountTargetThroughALinkIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(dir, "var")); err != nil {
		t.Fatal(err)
	}
	if path, err := makeTarget(dir, "/var/lib/etcd", true); err == nil {
		t.Errorf("made %s", path)
	}
}

// init works early only as long as this package waits for no late one.
func TestFewPackagesAreImported(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		late := path == "os/exec" || path == "path/filepath" || path == "sort" || path == "net" || path == "context" || strings.Contains(path, ".")
		if late && !strings.HasSuffix(path, "/test/local/inside") {
			t.Errorf("imports %s", path)
		}
	}
}
