package pulumi

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/child"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// engine is Pulumi as it lies on somebody's machine: its programs on the PATH,
// and an environment without an account.
type engine struct {
	root string // of the checkout
	path string // directory with its programs
	env  []string
}

// built finds Pulumi's programs, which are built if the cache has none.
var built = sync.OnceValues(func() (*engine, error) {
	ctx := context.Background()
	root, err := cluster.Root(ctx)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(shared.Dir, "pulumi-bin")
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	e := &engine{root: root, path: path}
	for _, name := range []string{"pulumi", "pulumi-resource-kubernetes"} {
		if err := e.add(ctx, name); err != nil {
			return nil, err
		}
	}
	module, err := output(ctx, filepath.Join(root, "test", "pulumi", "build", "provider"),
		"go", "list", "-m", "-f", "{{.Dir}}", "github.com/pulumi/pulumi-kubernetes/provider/v4")
	if err != nil {
		return nil, err
	}
	e.env = []string{
		"PATH=" + path + string(os.PathListSeparator) + os.Getenv("PATH"),
		"KUBECONFIG=" + shared.Kubeconfig,
		"PULUMI_KUBERNETES_SCHEMA=" + filepath.Join(module, "cmd", "pulumi-resource-kubernetes", "schema.json"),
		"PULUMI_CONFIG_PASSPHRASE=none", "PULUMI_SKIP_UPDATE_CHECK=true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true",
		"PULUMI_HOME=" + filepath.Join(shared.Dir, "pulumi-home"),
	}
	return e, nil
})

// add puts a program on the PATH.
func (e *engine) add(ctx context.Context, name string) error {
	program, err := output(ctx, filepath.Join(e.root, "test", "pulumi", "build"), "go", "run", ".", name)
	if err != nil {
		return err
	}
	return os.Symlink(program, filepath.Join(e.path, name))
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out.String()), nil
}

// run is one `pulumi up` that has been started.
type run struct {
	*testing.T
	process *child.Process
	began   time.Time
	log     string
}

// start runs a command of Pulumi's in a directory, with a backend of its own
// below it. Its output lies with the logs of the cluster, which stay after a failure.
func (e *engine) start(t *testing.T, dir, name string, args ...string) *run {
	t.Helper()
	r := &run{T: t, began: time.Now(), log: filepath.Join(shared.Dir, "logs", fmt.Sprintf("pulumi-up-%d.log", time.Now().UnixNano()))}
	var err error
	r.process, err = child.Start(child.Command{Name: name, Path: "env", Args: append([]string{name}, args...), Dir: dir, Log: r.log,
		Env: append([]string{"PULUMI_BACKEND_URL=file://" + dir}, e.env...)})
	must(t, err)
	t.Cleanup(func() { r.process.Kill(); e.endPlugins() })
	return r
}

// endPlugins ends what a killed CLI leaves behind: its plugins have process
// groups of their own. Only they were started by a path in this directory.
func (e *engine) endPlugins() {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil || !strings.HasPrefix(string(text), e.path+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// ended waits for the end and gives what was printed, how long it took, and how
// it ended.
func (r *run) ended(within time.Duration) (text string, took time.Duration, err error) {
	r.Helper()
	select {
	case <-r.process.Done():
	case <-time.After(within):
		r.Fatalf("pulumi has not ended within %s:\n%s", within, child.Tail(r.log, 40))
	}
	return child.Tail(r.log, 10_000), time.Since(r.began), r.process.Err()
}

// passed is ended, for a run that must succeed.
func (r *run) passed(within time.Duration) (text string, took time.Duration) {
	r.Helper()
	text, took, err := r.ended(within)
	if err != nil {
		r.Fatalf("pulumi failed after %s: %v\n%s", took, err, child.Tail(r.log, 60))
	}
	return text, took
}

// unchanged is passed, for a run that must touch nothing and wait for nothing.
func (r *run) unchanged() (took time.Duration) {
	r.Helper()
	text, took := r.passed(noopWithin)
	for _, word := range []string{"creating (", "updating (", "deleting ("} {
		if strings.Contains(text, word) {
			r.Errorf("an update without a change is %q:\n%s", word, text)
		}
	}
	return took
}
