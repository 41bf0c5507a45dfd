package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// relocked waits until the pod of the index runs the present target and the set
// is locked again, which is well before the pod is Ready.
func (s *stage) relocked(index int) {
	s.Helper()
	s.must(s.observer.Until(s.ctx, rollsWithin, "the set is not locked again", func(v observer.View) bool {
		p := v.Pods[index]
		return v.Set.Locked() && p.UID != "" && !p.Gone && !p.Terminating && p.Revision == v.Set.Update
	}))
}

// deleted checks how often each pod went away.
func deleted(t *testing.T, r observer.Report, want map[int]int) {
	t.Helper()
	if !maps.Equal(r.Deletions, want) {
		t.Errorf("deletions by index %v, want %v", r.Deletions, want)
	}
}

// Revision A comes back with its old name. Only the pod that had left it is
// replaced again.
func TestSS15_ChangedBackInMidRoll(t *testing.T) {
	t.Parallel()
	s := newStage(t, quick())
	s.direct()
	s.settled()
	s.leaderAt(0)
	first := s.observer.Set().Update
	s.start(etcdset.ToVersion("3.7.3"))
	s.relocked(2)
	s.must(s.set.Edit(s.ctx, etcdset.ToVersion("3.6.16")))
	s.must(s.observer.Until(s.ctx, formsWithin, "the change back is not seen", func(v observer.View) bool {
		return v.Set.Observed >= s.set.Edited && v.Set.Update == first
	}))
	r := s.settled()
	safe(t, r)
	converged(t, r)
	deleted(t, r, map[int]int{2: 2})
	for _, pod := range r.Final.Pods {
		if pod.Image != etcdset.Image("3.6.16") {
			t.Errorf("pod %d runs %s", pod.Index, pod.Image)
		}
	}
	s.logRoll(r)
}

// Each change meets a locked set, so the controller rolls nothing by itself.
func TestSS16_ThreeChangesDuringOneRoll(t *testing.T) {
	t.Parallel()
	s := newStage(t, quick())
	s.direct()
	s.settled()
	s.leaderAt(1)
	s.start(etcdset.WithEnv("GENERATION", "1"))
	for _, generation := range []string{"2", "3"} {
		s.relocked(2)
		s.must(s.set.Edit(s.ctx, etcdset.WithEnv("GENERATION", generation)))
		s.must(s.rolling())
	}
	r := s.settled()
	safe(t, r)
	converged(t, r)
	deleted(t, r, map[int]int{0: 1, 1: 1, 2: 3})
	s.logRoll(r)
}

// Nobody rolls, and somebody lowers partition: it is raised, nothing restarts.
func TestSS17_AnIdleSetFoundOpenIsLocked(t *testing.T) {
	t.Parallel()
	s := newStage(t, quick())
	s.direct()
	s.settled()
	s.mark = s.observer.Mark()
	open := []byte(`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
	_, err := shared.Client.AppsV1().StatefulSets(s.namespace).Patch(s.ctx, s.set.Name, types.MergePatchType, open, metav1.PatchOptions{FieldManager: "somebody"})
	s.must(err)
	s.must(s.observer.UntilSeen(s.ctx, formsWithin, "the set was never open", func(s observer.SetState) bool { return !s.Locked() }))
	r := s.settled()
	safe(t, r)
	converged(t, r)
	deleted(t, r, map[int]int{})
	moves(t, r, 0)
	if want := []int{3, 0, 3}; !slices.Equal(r.Partitions, want) {
		t.Errorf("partition went %v, want %v", r.Partitions, want)
	}
}

// The owner applies server-side, always without force. During a roll that is a
// conflict which names us and breaks nothing. Afterwards there is none, neither
// if the owner says nothing of partition, which does not open the set, nor
// whatever partition the owner wants.
func TestPU07_TheOwnerAppliesWithoutForceAfterARoll(t *testing.T) {
	t.Parallel()
	s := newStage(t, quick())
	s.direct()
	s.settled()
	s.leaderAt(0)
	s.start(etcdset.ToVersion("3.7.3"))
	s.must(s.conflictWhileOpen())
	s.happy()

	s.leaderAt(1)
	s.must(s.set.Apply(s.ctx, func(set *appsv1.StatefulSet) {
		etcdset.Template(etcdset.WithEnv("GENERATION", "2"))(set)
		set.Spec.UpdateStrategy.RollingUpdate = nil
	}))
	s.must(s.rolling())
	s.happy()

	s.mark = s.observer.Mark()
	for _, partition := range []int32{3, 5, 3} {
		s.must(s.set.Apply(s.ctx, func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
		}))
	}
	r := s.settled()
	safe(t, r)
	converged(t, r)
	deleted(t, r, map[int]int{})
}

// conflictWhileOpen applies the owner's manifest in a moment in which the set is
// open, and says if that did anything but conflict with us.
func (s *stage) conflictWhileOpen() error {
	for deadline := time.Now().Add(rollsWithin); time.Now().Before(deadline); {
		if err := s.observer.UntilSeen(s.ctx, rollsWithin, "the set was never open", func(s observer.SetState) bool { return !s.Locked() }); err != nil {
			return err
		}
		err := s.set.Apply(s.ctx, func(*appsv1.StatefulSet) {})
		switch {
		case apierrors.IsConflict(err) && strings.Contains(err.Error(), events.FieldManager):
			return nil
		case err != nil:
			return err
		}
		// It was locked in between; there are more openings to come.
	}
	return s.observer.Until(s.ctx, 0, "no apply met an open set", func(observer.View) bool { return false })
}
