package roll

import (
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// A move that was announced and did not happen may never have been asked for:
// the function may have died in between. It is tried once more with the member
// that is on target, since another would have to move leadership again (I9).
// After that it is the next one's turn, and nobody is asked more often than the
// limit allows.
func TestET03_OneFailureIsNoReasonForASecondMove(t *testing.T) {
	for _, c := range []struct{ onTarget, outdated, limit, want int }{
		{0, 0, 3, 2}, {1, 0, 3, 2}, {2, 0, 3, 0}, {2, 1, 3, 0}, {2, 2, 3, 2}, {3, 2, 3, 0}, {1, 0, 1, 0},
	} {
		o := with(healthy(3, 1), updated(2), later(time.Hour))
		o.Limits.MoveTries = c.limit
		o.Record = Record{UID: o.Set.UID, Target: newRev, Seq: 5, Started: noon, MoveTries: map[string]int{
			guard.ID(102).String(): c.onTarget, guard.ID(100).String(): c.outdated,
		}}
		d := Next(o)
		if d.Step != StepMove || d.Effect.To != guard.ID(100+c.want) {
			t.Errorf("%+v: %s", c, Describe(d))
		}
	}
	o := with(healthy(3, 1), updated(2), later(time.Hour))
	o.Record = Record{UID: o.Set.UID, Target: newRev, Seq: 5, Started: noon, MoveTries: map[string]int{
		guard.ID(102).String(): o.Limits.MoveTries, guard.ID(100).String(): o.Limits.MoveTries,
	}}
	if d := Next(o); d.Reason != ReasonMoveFailed {
		t.Errorf("everybody has been asked often enough: %s", Describe(d))
	}
}
