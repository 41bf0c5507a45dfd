package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Kubectl runs kubectl against the cluster in this checkout's top directory and
// gives its standard output. It is the kubectl that the local cluster was built
// with, or the one in PATH where the cluster is not ours.
func (c *Cluster) Kubectl(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	program, err := c.kubectlPath(ctx)
	if err != nil {
		return nil, err
	}
	root, err := Root(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = root, c.KubectlEnv(), bytes.NewReader(stdin)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, complaints.String())
	}
	return out, nil
}

// KubectlEnv is the environment in which any kubectl speaks to this cluster and
// leaves nothing behind outside the scratch directory.
func (c *Cluster) KubectlEnv() []string {
	return append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "KUBECACHEDIR="+filepath.Join(c.Dir, "kubectl-cache"))
}

func (c *Cluster) kubectlPath(ctx context.Context) (string, error) {
	c.kubectlOnce.Lock()
	defer c.kubectlOnce.Unlock()
	if c.kubectl != "" {
		return c.kubectl, nil
	}
	var err error
	if c.Local() {
		var out []byte
		out, err = exec.CommandContext(ctx, c.cli, "build", "--print", "kubectl").Output()
		c.kubectl = strings.TrimSpace(string(out))
	} else {
		c.kubectl, err = exec.LookPath("kubectl")
	}
	if err != nil {
		return "", fmt.Errorf("find kubectl: %w", err)
	}
	return c.kubectl, nil
}

// KubectlDir is a directory whose only program is this cluster's kubectl, for
// commands that are written for a shell.
func (c *Cluster) KubectlDir(ctx context.Context) (string, error) {
	program, err := c.kubectlPath(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(c.Dir, "kubectl-bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	link := filepath.Join(dir, "kubectl")
	if err := os.Symlink(program, link); err != nil && !os.IsExist(err) {
		return "", err
	}
	return dir, nil
}
