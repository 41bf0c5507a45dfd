package trigger

import (
	"testing"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// The function takes any value but "" and "false" for a pause (events.IsPaused);
// the trigger must not disagree, or the set holds a place in the fleet.
func TestPauseMeansTheSameToBoth(t *testing.T) {
	set, _ := convergedSet()
	set.Generation, set.ObservedGeneration, set.UpdateRevision, set.Phase = 5, 5, "b", events.PhasePaused
	pods := podsAt("a", "a", "b")
	readAnnotations(&set, map[string]string{events.AnnotationPaused: "yes", events.AnnotationPhase: events.PhasePaused})
	a := Assess(set, pods)
	if a.State != Paused || a.Rolling {
		t.Errorf("state %s, pace %d, holds a place in the fleet: %t", a.State, a.Pace, a.Rolling)
	}
}
