package e2e

import (
	"testing"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// The observer must be able to see what it is there to see: the StatefulSet
// controller's own rolling update deletes a leading member without asking.
func TestTheObserverSeesWhatANativeRollDoes(t *testing.T) {
	t.Parallel()
	s := newStage(t, etcdset.Options{Native: true})
	s.leaderAt(2)
	s.must(s.set.Apply(s.ctx, etcdset.Template(etcdset.ToVersion("3.7.3"))))
	s.must(s.observer.Until(s.ctx, rollsWithin, "the native roll has not ended", func(v observer.View) bool {
		return v.AllOnTarget() && v.AllUp() && v.Set.Current == v.Set.Update && v.Set.Generation > 1
	}))
	r := s.report()
	if r.Unplanned < 1 || r.Planned != 0 {
		t.Errorf("%d unplanned and %d planned elections seen, want at least 1 and 0", r.Unplanned, r.Planned)
	}
	if len(r.Led) == 0 {
		t.Error("nobody saw that the leader's pod was deleted")
	}
	for i := range s.set.Replicas {
		if r.Deletions[i] != 1 {
			t.Errorf("pod %d was deleted %d times, want once", i, r.Deletions[i])
		}
	}
	if r.MembersDown < 1 || r.PodsDown < 1 {
		t.Errorf("%d members and %d pods seen down, want at least 1", r.MembersDown, r.PodsDown)
	}
	if len(r.Windows) != 1 || !r.Windows[0].Closed.IsZero() || len(r.Windows[0].Replaced) != 3 {
		t.Errorf("windows: %+v", r.Windows)
	}
	s.logRoll(r)
}
