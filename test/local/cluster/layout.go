// Package cluster starts and stops a single-machine Kubernetes cluster below one
// directory.
package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/etcdroll/etcdroll/test/local/proc"
)

// Dir is the cluster's own directory. Nothing is written elsewhere.
type Dir string

func (d Dir) path(parts ...string) string {
	return filepath.Join(append([]string{string(d)}, parts...)...)
}

// Kubeconfig is the administrator's; other names give kubeconfig-NAME.
func (d Dir) Kubeconfig(name string) string {
	if name == "" {
		return d.path("kubeconfig")
	}
	return d.path("kubeconfig-" + name)
}

// PodLogs is where container logs are kept.
func (d Dir) PodLogs() string { return d.path("logs", "pods") }

// Log is a component's log file.
func (d Dir) Log(component string) string { return d.path("logs", component+".log") }

func (d Dir) run() string           { return d.path("run") }
func (d Dir) runContainers() string { return d.path("run", "containers") }
func (d Dir) pki(file string) string {
	return d.path("pki", file)
}

// State is what is remembered of a started cluster, so that components can be
// stopped and started again by another process.
type State struct {
	Components []Component `json:"components"` // in the order of starting
	APIServer  string      `json:"apiServer"`  // host:port
	Nodes      int         `json:"nodes"`
	Tied       bool        `json:"tied"` // components die with the process that started the cluster
}

// Component is one program and how to see that it is ready.
type Component struct {
	proc.Command
	Ready string        `json:"ready"` // URL that answers 200 when it is; empty: no check
	Grace time.Duration `json:"grace"` // between SIGTERM and SIGKILL
}

func (d Dir) stateFile() string { return d.path("cluster.json") }

func (d Dir) save(s State) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(d.stateFile(), content, 0o644)
}

// Load reads the state of the cluster in this directory.
func (d Dir) Load() (State, error) {
	content, err := os.ReadFile(d.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, fmt.Errorf("no cluster in %s", d)
	}
	if err != nil {
		return State{}, err
	}
	var s State
	if err := json.Unmarshal(content, &s); err != nil {
		return State{}, fmt.Errorf("reading %s: %w", d.stateFile(), err)
	}
	return s, nil
}

// prepare empties the directory of an earlier cluster and makes its skeleton. A
// directory that holds anything but a cluster is refused.
func (d Dir) prepare() error {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(d.stateFile()); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty and holds no cluster: choose another --dir", d)
	}
	for _, e := range entries {
		if err := os.RemoveAll(d.path(e.Name())); err != nil {
			return err
		}
	}
	for _, dir := range []string{"pki", "run/containers", "logs/pods", "etcd", "pods", "volumes", "bin"} {
		if err := os.MkdirAll(d.path(dir), 0o755); err != nil {
			return err
		}
	}
	return d.save(State{})
}

// running lists the live processes of the cluster: components first, in no
// particular order, then containers.
func (d Dir) running() (components, containers []proc.Record, err error) {
	for dir, into := range map[string]*[]proc.Record{d.run(): &components, d.runContainers(): &containers} {
		records, err := proc.List(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range records {
			if r.Alive() {
				*into = append(*into, r)
			}
		}
	}
	return components, containers, nil
}
