package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/audit"
	"github.com/etcdroll/etcdroll/test/e2e/relay"
)

const idleFor = time.Minute

// An idle set costs no write and no event. The only thing written meanwhile is
// the trigger's lease. The API server's own log is the witness.
func TestI10_AnIdleSetCostsNothing(t *testing.T) {
	t.Parallel()
	if !shared.Local() {
		t.Skip("the audit log of this cluster is not ours to read")
	}
	s := newStage(t, quick())
	place := s.install(true)
	function := s.part(place.Function())
	between, err := relay.Start(function.URL, relay.Faithful)
	s.must(err)
	t.Cleanup(between.Stop)
	s.part(place.Trigger(between.URL))
	s.settled()
	ended(t, between)
	from, sent := time.Now(), len(between.Events())
	s.mark = s.observer.Mark()
	time.Sleep(idleFor) // the time itself is what is measured
	entries, err := audit.Between(shared.AuditLog, from, time.Now(), place.Users()...)
	s.must(err)
	entries = slices.DeleteFunc(entries, func(e audit.Entry) bool { return e.Object.Resource == "leases" })
	for _, e := range entries {
		if e.Write() {
			t.Errorf("%s wrote: %s %s/%s", e.User.Username, e.Verb, e.Object.Resource, e.Object.Name)
		}
	}
	if events := between.Events()[sent:]; len(events) != 0 {
		t.Errorf("%d events about an idle set: %+v", len(events), events)
	}
	if r := s.report(); len(r.Final.Set.Annotations) == 0 || r.Steps != 0 || !r.Final.Settled() {
		t.Errorf("%d steps, %s", r.Steps, r.Final)
	}
	all, err := audit.Between(shared.AuditLog, from.Add(-time.Hour), from, place.Users()...)
	s.must(err)
	if !slices.ContainsFunc(all, func(e audit.Entry) bool { return e.Write() && e.Object.Resource == "statefulsets" }) {
		t.Error("the audit log does not even have the write that marked the set")
	}
}

// ended waits until the chain of events has ended: all are answered, and none has
// come for longer than a continuation of a step waits.
func ended(t *testing.T, r *relay.Relay) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		underWay := slices.ContainsFunc(r.Events(), func(e relay.Event) bool {
			return time.Since(e.At) < 3*time.Second || (e.Status == 0 && e.Failed == "")
		})
		switch {
		case !underWay:
			return
		case time.Now().After(deadline):
			t.Fatal("events about a converged set do not end")
		}
	}
}
