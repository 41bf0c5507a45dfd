// Package round makes one round: it rolls the set of a stage while the plan's
// faults befall it, and writes down what the judge wants to know.
package round

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/chaos/stage"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
)

const (
	writesPerSecond = 10
	// beginsWithin is how long a set that is kept may take to be at rest.
	beginsWithin = time.Minute
	// faultsWithin bounds the wait for anchors: a fault whose moment has not come by
	// then does not come about.
	faultsWithin = 45 * time.Second
)

// Bound is I5's: how long after the last fault a roll may take. Each pod may
// have to go again, at some seconds for its restart, its soak and the rest after
// an election; the constant is for whoever was told to come back later: the
// trigger's back-off and the controllers', which after an outage of the API
// server look again after half a minute.
func Bound(members int) time.Duration {
	return 60*time.Second + time.Duration(members)*20*time.Second
}

// Round is one round under way.
type Round struct {
	*stage.Stage
	Plan   plan.Round
	record judge.Record
	mark   observer.Mark
	writer *writer.Writer
	shared <-chan []judge.Incident
	halted map[string]bool
}

// Shared is how a round takes part in what befalls its whole wave.
type Shared struct {
	// Ready is called once, when the roll is about to start.
	Ready func()
	// Begin is closed when the rolls of the wave start.
	Begin <-chan struct{}
	// Incidents come when the shared faults are over.
	Incidents <-chan []judge.Incident
}

// Make makes the round. An error means that it could not be made; what the
// product did wrong is in the record.
func Make(ctx context.Context, s *stage.Stage, p plan.Round, shared Shared) (judge.Record, error) {
	r := &Round{Stage: s, Plan: p, shared: shared.Incidents, halted: map[string]bool{},
		record: judge.Record{Plan: p, Bound: Bound(p.Shape.Members)}}
	err := r.prepare(ctx)
	shared.Ready()
	if r.Observer != nil {
		defer r.Unwatch()
	}
	if err != nil {
		return r.record, fmt.Errorf("prepare: %w", err)
	}
	<-shared.Begin
	if err := r.start(ctx); err != nil {
		r.abandon(ctx)
		return r.record, fmt.Errorf("start: %w", err)
	}
	r.roll(ctx)
	r.beQuiet(ctx)
	return r.record, r.close(ctx)
}

// prepare waits for a set at rest, puts leadership where the plan wants it, and
// begins to write.
func (r *Round) prepare(ctx context.Context) error {
	if err := r.Watch(ctx); err != nil {
		return err
	}
	if err := r.Observer.Until(ctx, beginsWithin, "the set is not at rest", observer.View.Settled); err != nil {
		return err
	}
	if r.Shape.Members > 1 {
		if err := r.Set.LeadWith(ctx, r.Plan.Leader); err != nil {
			return err
		}
	}
	endpoints, err := r.Set.Endpoints(ctx)
	if err != nil {
		return err
	}
	r.writer, err = writer.StartNamed(fmt.Sprintf("-round-%d", r.Plan.Number), slices.Collect(maps.Values(endpoints)), writesPerSecond, r.Set.Access)
	return err
}

// start changes the template and counts from there.
func (r *Round) start(ctx context.Context) error {
	r.mark = r.Observer.Mark()
	r.record.Started = time.Now()
	old := r.Observer.Set().Update
	if err := r.Set.Edit(ctx, etcdset.WithEnv("ROUND", fmt.Sprint(r.Plan.Number))); err != nil {
		return err
	}
	return r.Observer.Until(ctx, beginsWithin, "the change is not seen", func(v observer.View) bool { return v.Set.Update != old })
}

// abandon ends what was begun, without a verdict.
func (r *Round) abandon(ctx context.Context) {
	if r.writer != nil {
		_ = r.writer.Stop(ctx)
	}
}

// close collects the records.
func (r *Round) close(ctx context.Context) error {
	r.record.Acked = r.writer.Tally(r.record.Started).Acked
	if err := r.writer.Stop(ctx); err != nil {
		r.record.WriterSays = err.Error()
	}
	r.record.History = r.Observer.History()
	var err error
	r.record.Report, err = r.Observer.Report(r.mark)
	r.record.Halts = halts(r.record)
	endWithPods(&r.record)
	return err
}

// endWithPods: what is done to a member ends at the latest with its pod. Its
// successor is another process with another network.
func endWithPods(r *judge.Record) {
	for n, i := range r.Incidents {
		if i.UID == "" || i.Fault.Kind == plan.Evict {
			continue
		}
		for _, p := range r.History.Pods {
			if p.UID == i.UID && p.Gone && p.At.Before(i.To) {
				r.Incidents[n].To = p.At
			}
		}
	}
}
