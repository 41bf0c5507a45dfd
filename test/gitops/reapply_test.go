package gitops

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// flux applies the manifest every now and then until it is stopped, as Flux's
// kustomize-controller does: server-side, under its name, with force.
func (s *stage) flux(every time.Duration, manifest *appsv1.StatefulSet) (stop func() (applied int)) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	applied, done := 0, sync.WaitGroup{}
	done.Go(func() {
		for tick := time.NewTicker(every); ; applied++ {
			if err := s.apply(ctx, "kustomize-controller", manifest); err != nil && ctx.Err() == nil {
				s.Error(err)
			}
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	})
	stop = func() int { cancel(); done.Wait(); return applied }
	s.Cleanup(func() { stop() })
	return stop
}

// desired is the owner's manifest as it lies in Git.
func (s *stage) desired(change func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	live := s.live()
	set := &appsv1.StatefulSet{TypeMeta: s.kind(), ObjectMeta: live.ObjectMeta, Spec: live.Spec}
	set.ObjectMeta.ManagedFields, set.UID, set.ResourceVersion, set.Generation = nil, "", "", 0
	set.CreationTimestamp.Reset()
	maps.DeleteFunc(set.Annotations, func(key, _ string) bool { return !owned[key] })
	change(set)
	return set
}

// The recipe: partition is not in Git. Nothing that is applied meanwhile, and be
// it every second, is in the way of the roll.
func TestGO01_FluxReappliesWithoutPartition(t *testing.T) {
	t.Parallel()
	s := newStage(t, quick())
	s.tended()
	manifest := s.desired(func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy.RollingUpdate = nil
		etcdset.ToVersion("3.7.3")(&set.Spec.Template)
	})
	s.mark = s.observer.Mark()
	stop := s.flux(time.Second, manifest)
	s.changed()
	r := s.rolled()
	if n := stop(); n < 5 {
		t.Errorf("applied %d times only", n)
	}
	if want := map[int]int{0: 1, 1: 1, 2: 1}; !maps.Equal(r.Deletions, want) {
		t.Errorf("deletions by index %v, want %v", r.Deletions, want)
	}
}

// Against the recipe: partition is in Git, so that every reconciliation locks the
// set again, in the middle of a replacement too. A pod may go more than once.
// Whether each gets through between two reconciliations is chance; if one does not
// in three attempts, the roll halts, says who it was, and ends once that is over.
func TestGO01_FluxPutsPartitionBackEveryFewSeconds(t *testing.T) {
	t.Parallel()
	s := newStage(t, quick())
	s.tended()
	manifest := s.desired(func(set *appsv1.StatefulSet) { etcdset.ToVersion("3.7.3")(&set.Spec.Template) })
	s.mark = s.observer.Mark()
	stop := s.flux(3*time.Second, manifest)
	s.changed()
	halted := ""
	s.until(rollsWithin, "the roll has neither ended nor halted", func(v observer.View) bool {
		if v.Set.Annotations[events.AnnotationReason] == string(roll.ReasonPartitionContention) {
			halted = v.Set.Annotations[events.AnnotationHaltID]
		}
		return halted != "" || v.AllOnTarget() && v.AllUp() && v.Set.Marked() && v.Set.Locked()
	})
	if n := stop(); n < 3 {
		t.Errorf("applied %d times only", n)
	}
	if halted != "" {
		s.resumeFrom("kustomize-controller", halted)
	}
	r, most := s.rolled(), 3
	if halted != "" {
		most++ // by the resume, with nobody in the way
	}
	for index, n := range r.Deletions {
		if n > most {
			t.Errorf("pod %d went %d times, at most %d are allowed", index, n, most)
		}
	}
	t.Logf("deletions by index %v, partition went %v, halted as %q", r.Deletions, r.Partitions, halted)
}

// resumeFrom clears a halt, which must be on somebody's account.
func (s *stage) resumeFrom(whose, halt string) {
	s.Helper()
	if said := s.live().Annotations[events.AnnotationMessage]; !strings.Contains(said, whose+" sets partition while we roll") {
		s.Errorf("the halt does not say that it was %s: %q", whose, said)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, events.AnnotationResume, halt)
	_, err := shared.Client.AppsV1().StatefulSets(s.namespace).Patch(s.ctx, s.set.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	must(s.T, err)
}
