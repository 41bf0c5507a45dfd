package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// start changes the template and counts from there.
func (s *stage) start(change func(*corev1.PodTemplateSpec)) {
	s.Helper()
	s.mark = s.observer.Mark()
	s.must(s.set.Apply(s.ctx, etcdset.Template(change)))
	s.must(s.rolling())
}

// happy checks a roll in which nothing went wrong.
func (s *stage) happy() observer.Report {
	s.Helper()
	r := s.settled()
	safe(s.T, r)
	once(s.T, r)
	converged(s.T, r)
	s.logRoll(r)
	return r
}

func moves(t *testing.T, r observer.Report, want int) {
	t.Helper()
	if r.Planned != want || len(r.Announced) != want {
		t.Errorf("%d moves, %d announced, want %d", r.Planned, len(r.Announced), want)
	}
}

// One move is enough unless the leader is the first to go, and then two.
func TestARollMovesTheLeaderAsLittleAsPossible(t *testing.T) {
	for leader, least := range []int{1, 1, 2} {
		t.Run(fmt.Sprintf("leader at %d", leader), func(t *testing.T) {
			t.Parallel()
			o := quick()
			o.Release = "r1"
			s := newStage(t, o)
			s.direct()
			s.settled() // a new set is marked without any restart
			s.leaderAt(leader)
			s.start(etcdset.ToVersion("3.7.3"))
			r := s.happy()
			moves(t, r, least)
			if got := r.Final.Set.Annotations[events.AnnotationConverged]; got != "r1" {
				t.Errorf("release token %q is marked converged, want r1", got)
			}
		})
	}
}

func TestFiveMembers(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Replicas = 5
	s := newStage(t, o)
	s.direct()
	s.settled()
	s.leaderAt(3)
	s.start(etcdset.ToVersion("3.7.3"))
	moves(t, s.happy(), 1)
}

// A node selector is all that changes when a cluster is moved to new nodes.
func TestToAnotherNodePool(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Pool = "blue"
	s := newStage(t, o)
	s.direct()
	s.settled()
	s.leaderAt(1)
	s.start(etcdset.ToPool("green"))
	r := s.happy()
	moves(t, r, 1)
	for _, pod := range r.Final.Pods {
		node, err := shared.Client.CoreV1().Nodes().Get(s.ctx, pod.Node, getOptions)
		s.must(err)
		if node.Labels["pool"] != "green" {
			t.Errorf("pod %d is on %s in pool %q", pod.Index, pod.Node, node.Labels["pool"])
		}
	}
}

func TestTwoSetsAtOnce(t *testing.T) {
	t.Parallel()
	a := newStage(t, etcdset.Options{Name: "etcd-a", Config: etcdset.Quick()})
	b := a.beside(etcdset.Options{Name: "etcd-b", Config: etcdset.Quick()})
	a.direct()
	a.settled()
	b.settled()
	a.leaderAt(2)
	b.leaderAt(0)
	a.start(etcdset.ToVersion("3.7.3"))
	b.start(etcdset.ToVersion("3.7.3"))
	moves(t, a.happy(), 2)
	moves(t, b.happy(), 1)
}

// The product is there before the set: nothing is restarted, no leader moved.
func TestGreenfieldNeedsNoRestart(t *testing.T) {
	t.Parallel()
	s := emptyStage(t)
	s.direct()
	o := quick()
	o.Release = "first"
	s.create(o)
	s.must(s.observer.Until(s.ctx, formsWithin+rollsWithin, "the new set is not marked", observer.View.Settled))
	r := s.report()
	converged(t, r)
	if len(r.Deletions) != 0 || len(r.Announced) != 0 || len(r.Windows) != 0 {
		t.Errorf("deletions %v, moves %+v, openings %+v", r.Deletions, r.Announced, r.Windows)
	}
	for _, pod := range r.Final.Pods {
		if pod.Restarts != 0 {
			t.Errorf("pod %d restarted %d times", pod.Index, pod.Restarts)
		}
	}
	if got := r.Final.Set.Annotations[events.AnnotationConverged]; got != "first" {
		t.Errorf("release token %q is marked converged, want first", got)
	}
}
