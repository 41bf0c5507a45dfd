// Package fault does to a stage what a plan says, and undoes it.
package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/chaos/stage"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// ErrNoEffect comes of healing what has done nothing: it did not come about.
var ErrNoEffect = errors.New("it had no effect")

// Fault is one thing that befalls a stage or the cluster.
type Fault interface {
	// Name is for people.
	Name() string
	// Inject makes it so. An error means that it did not come about.
	Inject(context.Context) error
	// Heal undoes it. It is called once after every Inject without an error.
	Heal(context.Context) error
	// Trace is what is known of it.
	Trace() Trace
}

// Trace is what a fault leaves behind for the judge.
type Trace struct {
	Member int       // index; judge.None if it befell no member
	UID    string    // of the member's pod
	From   time.Time // when it began, if that is later than Inject
	Note   string
}

// base is what faults have in common.
type base struct {
	plan.Fault
	trace Trace
}

func (b *base) Name() string               { return string(b.Kind) }
func (b *base) Trace() Trace               { return b.trace }
func (b *base) Heal(context.Context) error { return nil }

// Of a stage.
func Of(f plan.Fault, s *stage.Stage) Fault {
	b := base{Fault: f, trace: Trace{Member: judge.None}}
	switch f.Kind {
	case plan.KillFunction:
		return &killFunction{b, s}
	case plan.KillAt:
		return &killAt{b, s}
	case plan.MoreFunctions:
		return &moreFunctions{base: b, s: s}
	case plan.FreezeFunction:
		return &freezeFunction{b, s}
	case plan.Duplicate, plan.Delay, plan.Reorder, plan.Lose:
		return &weather{b, s}
	case plan.KillTrigger:
		return &killTrigger{b, s}
	case plan.StaleReads:
		return &staleReads{b, s}
	case plan.LoseResponse:
		return &loseResponse{b, s}
	case plan.Freeze:
		return &freezeMember{base: b, s: s}
	case plan.Cut, plan.Slow:
		return &cutMember{base: b, s: s}
	case plan.MoveLeader:
		return &moveLeader{b, s}
	case plan.Evict:
		return &evict{b, s}
	case plan.ChangeTemplate:
		return &changeTemplate{b, s}
	case plan.ResetPartition:
		return &resetPartition{base: b, s: s}
	case plan.Pause:
		return &pause{b, s}
	case plan.Rotate:
		return &rotate{b, s}
	}
	return &unknown{b}
}

// OfCluster are the faults that befall all stages at once.
func OfCluster(f plan.Fault, c *cluster.Cluster) Fault {
	b := base{Fault: f, trace: Trace{Member: judge.None}}
	switch f.Kind {
	case plan.KillAPIServer:
		return &killAPIServer{b, c}
	case plan.StopControllers:
		return &stopControllers{b, c}
	case plan.FreezeControllers:
		return &freezeControllers{b, c}
	}
	return &unknown{b}
}

type unknown struct{ base }

func (u *unknown) Inject(context.Context) error {
	return fmt.Errorf("nobody knows how to do %s", u.Kind)
}

// insist repeats a call that another fault may be in the way of.
func insist(ctx context.Context, within time.Duration, call func() error) error {
	for deadline := time.Now().Add(within); ; {
		err := call()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}
