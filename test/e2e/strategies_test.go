package e2e

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

// deleting runs a function that has the right to delete pods.
func (s *stage) deleting() {
	s.Helper()
	place := s.install(true)
	function := s.part(place.Function())
	s.part(place.Trigger(function.URL, "--leader-elect=false"))
}

// Under OnDelete pods are deleted one by one, the followers first and the
// leader's last, which takes one move wherever it led.
func TestOnDeleteTakesTheLeaderLast(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Shape = func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	}
	s := newStage(t, o)
	s.deleting()
	s.settled()
	s.leaderAt(1)
	s.start(etcdset.ToVersion("3.7.3"))
	r := s.settled()
	safe(t, r)
	converged(t, r)
	deleted(t, r, map[int]int{0: 1, 1: 1, 2: 1})
	var order []int
	for _, e := range r.Replaced {
		order = append(order, e.Index)
	}
	if want := []int{2, 0, 1}; !slices.Equal(order, want) {
		t.Errorf("deleted in the order %v, want %v", order, want)
	}
	moves(t, r, 1)
	s.runs("3.7.3")
	s.logRoll(r)
}

// Parallel has no order of its own that would stop the controller: the lock
// alone does.
func TestSS02_ParallelIsRolledOneByOne(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Shape = func(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }
	s := newStage(t, o)
	s.direct()
	s.settled()
	s.leaderAt(2)
	s.start(etcdset.ToVersion("3.7.3"))
	moves(t, s.happy(), 2)
	s.runs("3.7.3")
}

// A template that is mended forwards recovers the broken pod and then rolls the
// rest, by us alone.
func TestSS01_ABrokenTemplateIsMendedForwards(t *testing.T) {
	t.Parallel()
	newStage(t, impatient()).mendedForwards()
}

// mendedForwards breaks the template and then mends it by a newer one.
func (s *stage) mendedForwards() {
	s.Helper()
	s.deleting()
	s.settled()
	s.breaks()
	s.must(s.set.Edit(s.ctx, etcdset.ToVersion("3.7.3")))
	s.must(s.rolling())
	r := s.settled()
	safe(s.T, r)
	converged(s.T, r)
	deleted(s.T, r, map[int]int{0: 1, 1: 1, 2: 2})
	moves(s.T, r, 1)
	s.runs("3.7.3")
	s.logRoll(r)
}
