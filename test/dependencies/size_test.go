package dependencies

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCommandsStaySmall builds each command as it is released. The function is
// loaded at every cold start; the others are pulled and kept.
func TestCommandsStaySmall(t *testing.T) {
	for command, most := range map[string]int64{"roll-fn": 30 << 20, "trigger": 45 << 20, "kubectl-etcdroll": 45 << 20} {
		out := filepath.Join(t.TempDir(), command)
		build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", out, "./cmd/"+command)
		build.Dir = root
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, text)
		}
		file, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s is %.1f MiB", command, float64(file.Size())/(1<<20))
		if file.Size() > most {
			t.Errorf("%s is %d MiB, more than %d: see what `go tool nm -size -sort size` shows of a build without -s", command, file.Size()>>20, most>>20)
		}
	}
}
