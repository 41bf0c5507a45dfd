package round

import (
	"context"
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/chaos/fault"
	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/relay"
)

// seen is how long a change that a fault has made may take to be seen here.
const seen = 500 * time.Millisecond

// look is how often a roll is looked at for its end.
const look = 100 * time.Millisecond

// mostResumes is how often a person resumes what has halted.
const mostResumes = 3

// roll injects the faults and waits for the end of the roll: converged and
// locked with all faults over, or too late.
func (r *Round) roll(ctx context.Context) {
	befall := r.begin(ctx)
	defer func() { r.record.Incidents = append(r.record.Incidents, befall.finish()...) }()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for ctx.Err() == nil {
		<-tick.C
		v := r.Observer.View()
		over, at := befall.over()
		r.record.Healed = at
		switch {
		case !over:
			// Moments that have not come by then do not come any more.
			if v.Settled() || halted(v) || time.Since(r.record.Started) > faultsWithin {
				befall.cancelPending()
			}
		case v.Settled() && time.Since(at) > seen:
			r.record.Settled = settledAt(r.Observer.History(), at)
			return
		case time.Since(at) > r.record.Bound*time.Duration(1+r.record.Resumed):
			return
		case halted(v) && r.record.Resumed < mostResumes:
			r.resume(ctx, v)
		}
	}
}

func halted(v observer.View) bool {
	return v.Set.Annotations[events.AnnotationPhase] == events.PhaseHalted
}

// resume is a person who has read why it halted.
func (r *Round) resume(ctx context.Context, v observer.View) {
	id := v.Set.Annotations[events.AnnotationHaltID]
	if id == "" || r.halted[id] {
		return
	}
	r.halted[id] = true
	if fault.Annotate(ctx, r.Stage, map[string]any{events.AnnotationResume: id}) == nil {
		r.record.Resumed++
	}
}

// settledAt is when the set was last written, which is what settled it, or when
// the faults were over.
func settledAt(h observer.History, healed time.Time) time.Time {
	at := healed
	if last := h.Sets[len(h.Sets)-1].At; last.After(at) {
		at = last
	}
	return at
}

// halts finds every halt in the history.
func halts(r judge.Record) (found []judge.Halt) {
	last := ""
	for _, s := range r.History.Sets {
		id := s.Annotations[events.AnnotationHaltID]
		standing := s.Annotations[events.AnnotationPhase] == events.PhaseHalted
		if standing && id != last && s.At.After(r.Started) {
			found = append(found, judge.Halt{At: s.At, ID: id, Reason: s.Annotations[events.AnnotationReason], Message: s.Annotations[events.AnnotationMessage]})
		}
		if standing {
			last = id
		}
	}
	return found
}

const (
	// What is under way at the end may come to its end: an event that was late, the
	// facts of the last step.
	rest = 1500 * time.Millisecond
	// And then nothing may happen for so long.
	quietFor = 2500 * time.Millisecond
	restsFor = 15 * time.Second
)

// beQuiet waits until the chain of events has ended and watches the silence.
func (r *Round) beQuiet(ctx context.Context) {
	deadline := time.Now().Add(restsFor)
	for time.Now().Before(deadline) && ctx.Err() == nil && time.Since(r.lastEvent()) < rest {
		time.Sleep(look)
	}
	q := judge.Quiet{From: time.Now()}
	select {
	case <-ctx.Done():
	case <-time.After(quietFor):
	}
	q.To = time.Now()
	if r.record.Settled.IsZero() {
		return // it is not at rest, which is worse
	}
	for _, s := range r.Observer.History().Sets {
		if s.At.After(q.From) {
			q.Changes = append(q.Changes, fmt.Sprintf("version %d, phase %q", s.Version, s.Annotations[events.AnnotationPhase]))
		}
	}
	for _, w := range r.Proxy.Writes(q.From) {
		q.Writes = append(q.Writes, w.Method+" "+w.Path)
	}
	for _, e := range r.Relay.Events() {
		if e.At.After(q.From) {
			q.Events = append(q.Events, e.Type)
		}
	}
	r.record.Quiet = q
}

// lastEvent is when something last happened to an event. One that has not been
// answered is happening now: the visit that marks the set as converged goes on to
// tell the world of it, in a Kubernetes Event and a fact, and that is the end of
// the roll and not something after it.
func (r *Round) lastEvent() time.Time { return lastOf(r.Relay.Events(), r.record.Settled) }

func lastOf(list []relay.Event, at time.Time) time.Time {
	for _, e := range list {
		switch {
		case e.Status == 0 && e.Failed == "":
			return time.Now()
		case e.At.After(at):
			at = e.At
		}
	}
	return at
}
