package round

import (
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/relay"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }

func state(second int, phase, halt string) observer.SetState {
	return observer.SetState{At: at(second), Annotations: map[string]string{
		events.AnnotationPhase: phase, events.AnnotationHaltID: halt, events.AnnotationReason: "NotHealthy"}}
}

func TestEachHaltIsCountedOnce(t *testing.T) {
	r := judge.Record{Started: at(0), History: observer.History{Sets: []observer.SetState{
		state(-1, events.PhaseHalted, "before"), state(1, events.PhaseRolling, ""), state(2, events.PhaseHalted, "a"), state(3, events.PhaseHalted, "a"),
		state(4, events.PhaseRolling, ""), state(5, events.PhaseHalted, "b"), state(6, events.PhaseConverged, ""),
	}}}
	got := halts(r)
	if len(got) != 2 || got[0].ID != "a" || !got[0].At.Equal(at(2)) || got[1].ID != "b" || got[1].Reason != "NotHealthy" {
		t.Errorf("%+v", got)
	}
}

// A cut ends with the pod, since its successor has a network of its own; an
// eviction is what ends the pod.
func TestWhatIsDoneToAMemberEndsWithItsPod(t *testing.T) {
	incident := func(kind plan.Kind, uid string) judge.Incident {
		return judge.Incident{Fault: plan.Fault{Kind: kind}, UID: uid, From: at(1), To: at(9)}
	}
	r := judge.Record{
		Incidents: []judge.Incident{incident(plan.Cut, "a"), incident(plan.Cut, "b"), incident(plan.Evict, "a"), incident(plan.Lose, "")},
		History:   observer.History{Pods: []observer.PodState{{UID: "a", At: at(3), Terminating: true}, {UID: "a", At: at(4), Gone: true}, {UID: "b", At: at(10), Gone: true}}},
	}
	endWithPods(&r)
	for n, want := range []int{4, 9, 9, 9} {
		if got := r.Incidents[n].To; !got.Equal(at(want)) {
			t.Errorf("incident %d ends at %s, want %s", n, got, at(want))
		}
	}
}

func TestItIsSettledWhenTheLastOfWriteAndFaultIsOver(t *testing.T) {
	h := observer.History{Sets: []observer.SetState{state(1, "", ""), state(5, "", "")}}
	for healed, want := range map[int]int{3: 5, 7: 7} {
		if got := settledAt(h, at(healed)); !got.Equal(at(want)) {
			t.Errorf("healed at %d: settled %s, want %s", healed, got, at(want))
		}
	}
}

func TestAnEventThatIsNotAnsweredIsNotOver(t *testing.T) {
	list := []relay.Event{{At: at(1), Status: 200}, {At: at(4), Failed: "refused"}}
	if got := lastOf(list, at(2)); !got.Equal(at(4)) {
		t.Errorf("the last was at %s", got)
	}
	if got := lastOf(append(list, relay.Event{At: at(3)}), at(2)); time.Since(got) > time.Minute {
		t.Errorf("one is under way, and the last was at %s", got)
	}
}

func TestTheBoundIsLinear(t *testing.T) {
	if d := Bound(5) - Bound(3); d != 2*(Bound(2)-Bound(1)) {
		t.Errorf("two members more make a difference of %s", d)
	}
}
