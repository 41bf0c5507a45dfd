package stage

import (
	"context"
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/test/bench/ledger"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
)

// Graces are how members end.
var Graces = []string{"term", "kill"}

const (
	warmUp = 1500 * time.Millisecond // of the writer, before the change
	rest   = time.Second             // after all is well, to see what comes late
)

// attempt is one run under way.
type attempt struct {
	*Stage
	variant Variant
	parts   *parts
	writer  *writer.Writer
	mark    observer.Mark
	began   time.Time // of the template change
	ended   time.Time // of watching
	wall    time.Duration
	healthy time.Duration
	before  [2]time.Duration // processor time of function and trigger
	after   [2]time.Duration
}

// Run makes one run. An error means that there was none: what goes wrong from the
// template change on is its outcome.
func (s *Stage) Run(ctx context.Context, key ledger.Key, setting ledger.Setting) (ledger.Run, ledger.Latency, error) {
	variant, err := Find(key.Variant)
	if err != nil {
		return ledger.Run{}, ledger.Latency{}, err
	}
	a := &attempt{Stage: s, variant: variant}
	r := ledger.Run{Key: key, Setting: setting, Leader: ledger.StartLeader(key.Number, s.Members), Outcome: ledger.Finished}
	if err := s.watch(ctx); err != nil {
		return r, ledger.Latency{}, err
	}
	defer s.observer.Stop()
	defer func() { a.parts.stop() }()
	if err := a.prepare(ctx, key.Grace == "kill", r.Leader); err != nil {
		return r, ledger.Latency{}, fmt.Errorf("prepare %s: %w", key.Variant, err)
	}
	if err := a.roll(ctx); err != nil {
		r.Outcome = err.Error()
	}
	a.ended = time.Now()
	if ctx.Err() != nil {
		return r, ledger.Latency{}, context.Cause(ctx)
	}
	if err := a.writer.Stop(ctx); err != nil && r.Outcome == ledger.Finished {
		r.Outcome = err.Error()
	}
	latency, err := a.measure(&r)
	if err != nil {
		r.Outcome = "not measured: " + err.Error()
	}
	return r, latency, nil
}

// prepare hands the set to the variant and puts leadership where the run wants it.
func (a *attempt) prepare(ctx context.Context, lost bool, leader int) (err error) {
	if err := a.observer.Until(ctx, formsWithin, "the members are not up before the run", observer.View.AllUp); err != nil {
		return err
	}
	if err := a.grace(ctx, lost); err != nil {
		return err
	}
	if err := a.hand(ctx, a.variant); err != nil {
		return err
	}
	if a.variant.etcdroll {
		if a.parts, err = a.start(a.variant.broker); err != nil {
			return err
		}
		if err := a.observer.Until(ctx, formsWithin, "the set was not taken in charge", observer.View.Settled); err != nil {
			return err
		}
	}
	if err := a.agreed(ctx, -1); err != nil {
		return err
	}
	if err := a.clean(ctx); err != nil {
		return fmt.Errorf("remove earlier writes: %w", err)
	}
	if err := a.set.LeadWith(ctx, leader); err != nil {
		return err
	}
	if err := a.agreed(ctx, leader); err != nil {
		return err
	}
	endpoints, err := a.endpoints(ctx)
	if err != nil {
		return err
	}
	if a.writer, err = writer.Start(endpoints, a.Rate); err != nil {
		return err
	}
	return pause(ctx, warmUp)
}

// roll changes the template and lets the variant do the rest. The writer writes
// until some time after all members are well again.
func (a *attempt) roll(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, rollsWithin, fmt.Errorf("the roll has not ended within %s", rollsWithin))
	defer cancel()
	if a.before[0], a.before[1], err = a.parts.used(); err != nil {
		return err
	}
	a.mark, a.began = a.observer.Mark(), time.Now()
	if err := a.changeTemplate(ctx, !a.variant.noProbe); err != nil {
		return err
	}
	if err := a.drive(ctx); err != nil {
		return err
	}
	a.wall = time.Since(a.began)
	if a.after[0], a.after[1], err = a.parts.used(); err != nil {
		return err
	}
	if err := a.observer.Until(ctx, rollsWithin, "not every pod was replaced", func(v observer.View) bool { return v.AllOnTarget() && v.AllUp() }); err != nil {
		return err
	}
	if err := a.agreed(ctx, -1); err != nil {
		return err
	}
	a.healthy = time.Since(a.began)
	return pause(ctx, rest)
}

func (a *attempt) drive(ctx context.Context) error {
	if a.variant.script != nil {
		if _, err := a.script.target(ctx); err != nil {
			return err
		}
		return a.variant.script(ctx, a.script, a.Members)
	}
	// The view of before the change is that of a finished roll as well.
	return a.observer.Until(ctx, rollsWithin, "the roll has not ended", func(v observer.View) bool {
		return v.Set.At.After(a.began) && a.rolled(v) && a.variant.finished(v)
	})
}

// rolled says that there is news of every pod.
func (a *attempt) rolled(v observer.View) bool {
	for _, p := range v.Pods {
		if !p.At.After(a.began) {
			return false
		}
	}
	return true
}
