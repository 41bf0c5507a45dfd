package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Command runs a command of the local cluster's command line on this cluster,
// such as "kill" or "stop-component".
func (c *Cluster) Command(ctx context.Context, args ...string) error {
	if !c.Local() {
		return errors.New("the cluster is not ours")
	}
	out, err := exec.CommandContext(ctx, c.cli, append(slices.Clone(args), "--dir="+c.home())...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("local %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Etcd is the client address of the local control plane's own etcd.
func (c *Cluster) Etcd() (string, error) {
	const file, flag = "cluster.json", "--listen-client-urls="
	content, err := os.ReadFile(filepath.Join(c.home(), file))
	if err != nil {
		return "", fmt.Errorf("find the control plane's etcd: %w", err)
	}
	var state struct {
		Components []struct {
			Name string   `json:"name"`
			Args []string `json:"args"`
		} `json:"components"`
	}
	if err := json.Unmarshal(content, &state); err != nil {
		return "", fmt.Errorf("find the control plane's etcd: %w", err)
	}
	for _, component := range state.Components {
		for _, arg := range component.Args {
			if url, ok := strings.CutPrefix(arg, flag); ok && component.Name == "etcd" {
				return url, nil
			}
		}
	}
	return "", fmt.Errorf("find the control plane's etcd: no %s in %s", flag, file)
}

func (c *Cluster) home() string { return filepath.Join(c.Dir, "cluster") }
