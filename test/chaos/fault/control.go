package fault

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/test/chaos/stage"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// How long a part of the control plane may take to be back.
const backWithin = 45 * time.Second

// killAPIServer ends the API server with SIGKILL; the node agent starts it again.
type killAPIServer struct {
	base
	c *cluster.Cluster
}

func (f *killAPIServer) Inject(ctx context.Context) error {
	return f.c.Command(ctx, "signal-component", "apiserver", "--signal=KILL")
}

// Heal waits until it answers again: it is not healed before. Its /readyz is not
// asked, since on a busy machine it waits for more than anybody here needs.
func (f *killAPIServer) Heal(ctx context.Context) error {
	time.Sleep(300 * time.Millisecond) // the dead one may not have been noticed yet
	return insist(ctx, backWithin, func() error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := f.c.Client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	})
}

// stopControllers stops the controller manager for a while.
type stopControllers struct {
	base
	c *cluster.Cluster
}

func (f *stopControllers) Inject(ctx context.Context) error {
	return f.c.Command(ctx, "stop-component", "controller-manager")
}

func (f *stopControllers) Heal(ctx context.Context) error {
	return f.c.Command(ctx, "start-component", "controller-manager")
}

// freezeControllers stops the controller manager in mid-air: what it knew is
// written later, status first of all.
type freezeControllers struct {
	base
	c *cluster.Cluster
}

func (f *freezeControllers) Inject(ctx context.Context) error {
	return f.c.Command(ctx, "signal-component", "controller-manager", "--signal=STOP")
}

func (f *freezeControllers) Heal(ctx context.Context) error {
	return f.c.Command(ctx, "signal-component", "controller-manager", "--signal=CONT")
}

// staleReads answers the function's GETs of set and pods from the past.
type staleReads struct {
	base
	s *stage.Stage
}

func (f *staleReads) Inject(context.Context) error {
	f.s.Proxy.Age(f.Every)
	return nil
}

func (f *staleReads) Heal(context.Context) error {
	f.trace.Note = fmt.Sprintf("%d reads answered from the past", f.s.Proxy.Age(0))
	return nil
}

// loseResponse breaks the connection after a write of the function was applied.
type loseResponse struct {
	base
	s *stage.Stage
}

func (f *loseResponse) Inject(context.Context) error {
	f.s.Proxy.LoseAnswers(f.Count)
	return nil
}

func (f *loseResponse) Heal(context.Context) error {
	lost := f.Count - f.s.Proxy.LoseAnswers(0)
	f.trace.Note = fmt.Sprintf("%d answers lost", lost)
	if lost == 0 {
		return ErrNoEffect // nothing was written meanwhile
	}
	return nil
}
