package stage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/etcdroll/etcdroll/test/bench/ledger"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
)

// Setting is what every row of this sitting has in common.
func (s *Stage) Setting(ctx context.Context) (ledger.Setting, error) {
	kubernetes, err := s.cluster.Client.Discovery().ServerVersion()
	if err != nil {
		return ledger.Setting{}, err
	}
	commit, err := commit(ctx)
	return ledger.Setting{
		Config: fmt.Sprintf("%d members of etcd %s, %d writes a second with a deadline of %s each, soak %s, Kubernetes %s, Knative Eventing %s",
			s.Members, s.Version, s.Rate, writer.Deadline, s.Cooldown, kubernetes.GitVersion, knativeVersion(s.eventing.Modules.Eventing)),
		Machine: machine(), Commit: commit,
	}, err
}

// knativeVersion is in the name of the module's folder.
func knativeVersion(folder string) string {
	_, version, _ := strings.Cut(filepath.Base(folder), "@")
	return version
}

// measured are the paths that make a difference to the figures.
var measured = []string{"cmd", "pkg", "config", "go.mod", "test/bench", "test/e2e", "test/local", "test/knative"}

func commit(ctx context.Context) (string, error) {
	head, err := git(ctx, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", err
	}
	changed, err := git(ctx, append([]string{"status", "--porcelain", "--"}, measured...)...)
	if changed != "" {
		head += "+"
	}
	return head, err
}

func git(ctx context.Context, args ...string) (string, error) {
	root, err := cluster.Root(ctx)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// machine is what the kernel says of it.
func machine() string {
	model := runtime.GOARCH
	if line, ok := lineOf("/proc/cpuinfo", "model name"); ok {
		model = line
	}
	text := fmt.Sprintf("%d cores (%s)", runtime.NumCPU(), model)
	if line, ok := lineOf("/proc/meminfo", "MemTotal"); ok {
		var kib int
		if _, err := fmt.Sscanf(line, "%d kB", &kib); err == nil {
			text += fmt.Sprintf(", %d GiB of memory", (kib+1<<19)>>20)
		}
	}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		text += ", Linux " + string(bytes.TrimSpace(kernel))
	}
	return text + ", " + runtime.Version()
}

// lineOf is the value of the first line "NAME: VALUE".
func lineOf(file, name string) (string, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}
