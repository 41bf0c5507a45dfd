package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/etcdroll/etcdroll/test/local/proc"
)

// Up starts a fresh cluster and returns when every node is Ready. On error
// nothing of it is left running.
func Up(ctx context.Context, o Options) (err error) {
	if components, containers, err := o.Dir.running(); err != nil {
		return err
	} else if len(components) > 0 {
		return fmt.Errorf("a cluster already runs in %s (%s, pid %d): `down` ends it", o.Dir, components[0].Name, components[0].PID)
	} else if len(containers) > 0 {
		return fmt.Errorf("containers of an earlier cluster still run in %s: `down` ends them", o.Dir)
	}
	if err := o.Dir.prepare(); err != nil {
		return fmt.Errorf("preparing %s: %w", o.Dir, err)
	}
	a, err := pickAddresses()
	if err != nil {
		return err
	}
	if err := o.Dir.credentials(local(a.api)); err != nil {
		return err
	}
	if err := copyFile(o.Self, o.self()); err != nil {
		return fmt.Errorf("keeping a copy of this program: %w", err)
	}
	if err := o.writeConfigs(a); err != nil {
		return err
	}
	state := State{Components: o.components(a), APIServer: local(a.api), Nodes: o.Nodes, Tied: o.Tied}
	if err := o.Dir.save(state); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = Down(o.Dir)
		}
	}()
	return o.startAll(ctx, state)
}

func (o Options) startAll(ctx context.Context, state State) error {
	began := time.Now()
	probe, err := newProber(o.Dir)
	if err != nil {
		return err
	}
	ended := map[string]<-chan struct{}{}
	for _, c := range state.Components {
		if ended[c.Name], err = o.Dir.start(c, o.Tied); err != nil {
			return err
		}
		// etcd and the API server must answer before the next one starts; the
		// others wait for nobody.
		if c.Name == Etcd || c.Name == APIServer {
			if err := probe.untilReady(ctx, o.Dir, c, ended[c.Name]); err != nil {
				return err
			}
			_, _ = fmt.Fprintf(o.Progress, "%s ready after %s\n", c.Name, time.Since(began).Round(100*time.Millisecond))
		}
	}
	for _, c := range state.Components[2:] {
		if err := probe.untilReady(ctx, o.Dir, c, ended[c.Name]); err != nil {
			return err
		}
	}
	if err := untilUsable(ctx, o.Dir, state.Nodes, ended[NodeAgent]); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(o.Progress, "%d nodes ready after %s\n", state.Nodes, time.Since(began).Round(100*time.Millisecond))
	return nil
}

func (d Dir) start(c Component, tied bool) (<-chan struct{}, error) {
	_, ended, err := c.Start(d.run(), tied)
	return ended, err
}

// Down ends every process of the cluster and returns when none is left. It
// needs nothing but the records, so that it works after any crash.
func Down(d Dir) error {
	components, _, err := d.running()
	if err != nil {
		return err
	}
	// The agent goes first and takes the containers along, so that nothing is
	// restarted; state is thrown away, so that nothing needs a grace.
	for _, name := range []string{NodeAgent, ControllerManager, Scheduler, APIServer, Etcd} {
		for _, r := range components {
			if r.Name == name {
				if err := r.Stop(0); err != nil {
					return err
				}
				r.Remove(d.run())
			}
		}
	}
	_, containers, err := d.running()
	if err != nil {
		return err
	}
	for _, r := range containers {
		if err := r.Stop(0); err != nil {
			return err
		}
		r.Remove(d.runContainers())
	}
	return d.discard()
}

// discard removes what is of no use without the processes and can be large. Logs,
// the audit log and the kubeconfigs stay.
func (d Dir) discard() error {
	if _, err := os.Stat(d.stateFile()); err != nil {
		return nil // not a cluster's directory
	}
	for _, dir := range []string{"etcd", "volumes", "pods", "bin", "run"} {
		if err := os.RemoveAll(d.path(dir)); err != nil {
			return err
		}
	}
	return nil
}

// StopComponent ends one component with SIGTERM, then SIGKILL.
func StopComponent(d Dir, name string) error {
	c, r, err := d.started(name)
	if err != nil {
		return err
	}
	if !r.Alive() {
		return fmt.Errorf("%s does not run", name)
	}
	r.Remove(d.run()) // first, so that nothing starts it again
	return r.Stop(c.Grace)
}

// SignalComponent sends a signal to one running component, such as SIGSTOP to
// freeze it. It is not started again unless it ends.
func SignalComponent(d Dir, name string, sig unix.Signal) error {
	_, r, err := d.started(name)
	if err != nil {
		return err
	}
	if err := r.Signal(sig); err != nil {
		return fmt.Errorf("signalling %s: %w", name, err)
	}
	return nil
}

// StartComponent starts a stopped component as it was and waits until it is ready.
func StartComponent(ctx context.Context, d Dir, name string) error {
	c, r, err := d.started(name)
	if err != nil {
		return err
	}
	if r.Alive() {
		return fmt.Errorf("%s already runs (pid %d)", name, r.PID)
	}
	probe, err := newProber(d)
	if err != nil {
		return err
	}
	ended, err := d.start(c, false)
	if err != nil {
		return err
	}
	return probe.untilReady(ctx, d, c, ended)
}

func (d Dir) component(name string) (Component, error) {
	state, err := d.Load()
	if err != nil {
		return Component{}, err
	}
	var known []string
	for _, c := range state.Components {
		if c.Name == name || "kube-"+c.Name == name {
			return c, nil
		}
		known = append(known, c.Name)
	}
	return Component{}, fmt.Errorf("no component %q: known are %v", name, known)
}

// started is a component and the record of the process that runs it.
func (d Dir) started(name string) (Component, proc.Record, error) {
	c, err := d.component(name)
	if err != nil {
		return Component{}, proc.Record{}, err
	}
	r, err := proc.Read(d.run(), c.Name)
	return c, r, err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
