package e2e

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

// Whether a StatefulSet may have more than one pod unavailable is a feature
// gate of Kubernetes, MaxUnavailableStatefulSet: on by default in 1.35 until
// 1.35.4 and from 1.37. These tests hold with it on and off; run them a second
// time with ETCDROLL_E2E_FEATURE_GATES=MaxUnavailableStatefulSet=false.

func parallel(unavailable int) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		most := intstr.FromInt(unavailable)
		set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &most
	}
}

// maxUnavailable is what the API server has kept of the owner's wish: nothing
// while the gate is off.
func (s *stage) maxUnavailable() int {
	s.Helper()
	set, err := shared.Client.AppsV1().StatefulSets(s.namespace).Get(s.ctx, s.set.Name, getOptions)
	s.must(err)
	if most := set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable; most != nil {
		return most.IntValue()
	}
	return 1
}

// An owner asks for two at a time under Parallel. Where Kubernetes would do
// that, the set is refused and nothing is touched until the owner takes it
// back; where it would not, the set is rolled like any other. Never are two
// members down.
func TestSS10_TwoAtATimeIsRefusedWhereItWouldHappen(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Shape = parallel(2)
	s := newStage(t, o)
	s.direct()
	t.Logf("the API server has kept maxUnavailable %d", s.maxUnavailable())
	if shared.Local() && shared.Gate("MaxUnavailableStatefulSet", true) != (s.maxUnavailable() == 2) {
		t.Errorf("the feature gate has not the effect it should have")
	}
	if s.maxUnavailable() == 1 {
		s.settled()
		s.leaderAt(2)
		s.start(etcdset.ToVersion("3.7.3"))
		moves(t, s.happy(), 2)
	} else {
		s.leaderAt(2)
		s.start(etcdset.ToVersion("3.7.3"))
		s.blocked("ShapeUnsupported", "maxUnavailable resolves to 2")
		s.must(s.set.Apply(s.ctx, parallel(1)))
		moves(t, s.happy(), 2)
	}
	s.runs("3.7.3")
}

// The controller of some versions does not replace a broken pod even under
// Parallel once the gate is on. We do, and roll the rest one by one.
func TestSS09_ABrokenTemplateUnderParallelIsMended(t *testing.T) {
	t.Parallel()
	o := impatient()
	o.Shape = parallel(1)
	newStage(t, o).mendedForwards()
}
