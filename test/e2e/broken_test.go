package e2e

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

const patience = 10 // seconds until a pod that does not start halts the roll

// breaks rolls towards an image that does not exist and waits for the halt.
func (s *stage) breaks() {
	s.Helper()
	s.leaderAt(0)
	s.start(etcdset.ToImage("registry.local/etcd:broken"))
	s.must(s.observer.UntilSeen(s.ctx, rollsWithin, "no pod was released", func(s observer.SetState) bool { return !s.Locked() }))
	s.must(s.observer.Until(s.ctx, rollsWithin, "the roll is not halted", halted))
	r := s.report()
	safe(s.T, r)
	deleted(s.T, r, map[int]int{2: 1})
	moves(s.T, r, 0)
	set := r.Final.Set
	if !set.Locked() {
		s.Errorf("halted while open: %s", r.Final)
	}
	if took := set.At.Sub(r.Windows[0].Opened); took > (patience+15)*time.Second {
		s.Errorf("halted %s after the release, with a deadline of %d s", took, patience)
	}
	if set.Annotations[events.AnnotationHaltedRevision] != set.Update || set.Annotations[events.AnnotationHaltID] == "" ||
		set.Annotations[events.AnnotationReason] == "" || !strings.Contains(set.Annotations[events.AnnotationMessage], "etcd-2") {
		s.Errorf("the halt is not explained: %v", set.Annotations)
	}
}

func halted(v observer.View) bool {
	return v.Set.Annotations[events.AnnotationPhase] == events.PhaseHalted && v.Set.Annotations[events.AnnotationHaltedRevision] == v.Set.Update
}

func impatient() etcdset.Options {
	o := quick()
	o.Config["readyTimeoutSeconds"] = patience
	return o
}

// Without the right to delete pods a person gets the command to run, and
// running it completes the roll.
func TestSS01_ABrokenTemplateHaltsAndIsMendedByHand(t *testing.T) {
	t.Parallel()
	s := newStage(t, impatient())
	s.direct()
	s.settled()
	s.breaks()
	s.must(s.set.Edit(s.ctx, etcdset.ToVersion("3.6.16")))
	s.must(s.observer.Until(s.ctx, rollsWithin, "nobody is told which pod to delete", func(v observer.View) bool {
		return v.Set.Observed == v.Set.Generation && halted(v) &&
			strings.Contains(v.Set.Annotations[events.AnnotationMessage], "kubectl -n "+s.namespace+" delete pod etcd-2")
	}))
	s.must(shared.Client.CoreV1().Pods(s.namespace).Delete(s.ctx, "etcd-2", metav1.DeleteOptions{}))
	r := s.settled()
	safe(t, r)
	converged(t, r)
	deleted(t, r, map[int]int{2: 2})
}

// With the right the broken pod is replaced as soon as the template is mended.
func TestSS01_ABrokenTemplateIsMendedByItsRevert(t *testing.T) {
	t.Parallel()
	s := newStage(t, impatient())
	place := s.install(true)
	function := s.part(place.Function())
	s.part(place.Trigger(function.URL, "--leader-elect=false"))
	s.settled()
	s.breaks()
	s.must(s.set.Edit(s.ctx, etcdset.ToVersion("3.6.16")))
	s.must(s.observer.Until(s.ctx, formsWithin, "the change is not seen", func(v observer.View) bool {
		return v.Set.Observed == v.Set.Generation && v.Set.Update == v.Set.Current
	}))
	r := s.settled()
	safe(t, r)
	converged(t, r)
	deleted(t, r, map[int]int{2: 2})
}
