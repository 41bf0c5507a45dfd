package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/etcdroll/etcdroll/test/local/proc"
)

// KeepAlive starts components again that ended by themselves, as the kubelet
// does with a control plane of static pods: the scheduler, for one, exits on
// purpose when its cache contradicts the API server. A component that was
// stopped on purpose has no record and stays stopped. The agent runs this.
func KeepAlive(ctx context.Context, d Dir, report io.Writer) {
	runtime.LockOSThread() // tied components follow the starting thread
	state, err := d.Load()
	if err != nil {
		_, _ = fmt.Fprintln(report, err)
		return
	}
	next := map[string]time.Time{}
	for {
		for _, c := range state.Components {
			if c.Name == NodeAgent || time.Now().Before(next[c.Name]) || !d.crashed(c.Name) {
				continue
			}
			next[c.Name] = time.Now().Add(2 * time.Second)
			_, _ = fmt.Fprintf(report, "%s has ended by itself; starting it again\n", c.Name)
			if _, err := d.start(c, state.Tied); err != nil {
				_, _ = fmt.Fprintln(report, err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// crashed says that a component should run and does not.
func (d Dir) crashed(name string) bool {
	if _, err := os.Stat(filepath.Join(d.run(), name+".json")); err != nil {
		return false
	}
	r, err := proc.Read(d.run(), name)
	return err == nil && !r.Alive()
}
