package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// broken checks which invariants were found broken, and a word of the first.
func broken(t *testing.T, r Record, word string, want ...string) Verdict {
	t.Helper()
	v := Judge(r)
	var got []string
	for _, f := range v.Findings {
		if !slices.Contains(got, f.Invariant) {
			got = append(got, f.Invariant)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("broken are %v, want %v: %+v", got, want, v.Findings)
	}
	if len(want) > 0 && !strings.Contains(v.Findings[0].Text, word) {
		t.Errorf("%q does not say %q", v.Findings[0].Text, word)
	}
	return v
}

func TestARollThatGoesWellBreaksNothing(t *testing.T) {
	if v := broken(t, roll(nil), ""); v.Planned != 1 || v.Allowed != 1 {
		t.Errorf("%d moves of %d allowed, want 1 of 1", v.Planned, v.Allowed)
	}
	od := newTape(plan.Shape{Members: 3, OnDelete: true}, 1)
	od.replace(1, 2)
	od.replace(5, 0)
	od.elect(9, 2, true)
	od.replace(10, 1)
	broken(t, od.converge(15), "")
}

func TestI1_AVictimBesideAMemberThatIsIll(t *testing.T) {
	ill := func(from, to float64) Record {
		return roll(func(t *tape) { t.befall(plan.Fault{Kind: plan.Freeze}, 0, from, to) })
	}
	broken(t, ill(2, 8), "member 0 was ill", "I1")
	broken(t, ill(5, 8), "") // a second before the write, nobody can know
	broken(t, ill(1, 5), "") // it is well again
	v := Judge(ill(2, 8))
	if !slices.ContainsFunc(v.Findings, func(f Finding) bool { return strings.Contains(f.Text, "a quorum is 2") }) {
		t.Errorf("nothing is said of the quorum: %+v", v.Findings)
	}
}

func TestI1_AVictimBesideAPodThatIsAway(t *testing.T) {
	evicted := func(second float64) Record {
		return roll(func(t *tape) {
			t.Incidents = append(t.Incidents, Incident{Fault: plan.Fault{Kind: plan.Evict}, Member: 0, UID: "first", From: t.at(second), To: t.at(second)})
			t.ends(second, 0)
			t.Report.Windows = append(t.Report.Windows, observer.Window{Opened: t.at(second), Closed: t.at(second)})
		})
	}
	broken(t, evicted(3), "pod 0 was not up", "I1")
	broken(t, evicted(5.5), "")
}

// What is seen last of a pod that is away is not when it went: it ends, it is
// gone, and its successor is there and not Ready for a while.
func TestI1_AVictimBesideAPodWhoseSuccessorIsNotReady(t *testing.T) {
	evicted := func(second float64) Record {
		return roll(func(t *tape) {
			t.Incidents = append(t.Incidents, Incident{Fault: plan.Fault{Kind: plan.Evict}, Member: 0, UID: "first", From: t.at(second), To: t.at(second)})
			t.pod(second, 0, func(p *observer.PodState) { p.Terminating, p.Ready = true, false })
			t.pod(5.8, 0, func(p *observer.PodState) { p.Gone = true })
			t.pod(5.9, 0, func(p *observer.PodState) { *p = observer.PodState{UID: "second", Revision: oldRevision} })
		})
	}
	broken(t, evicted(3), "pod 0 was not up", "I1")
	broken(t, evicted(5), "")
	stale := evicted(3)
	stale.Incidents = append(stale.Incidents, Incident{Fault: plan.Fault{Kind: plan.StaleReads, Every: 2 * time.Second}, Member: None, From: stale.Started, To: stale.Started.Add(5 * time.Second)})
	broken(t, stale, "") // it was shown pods that were two seconds old
}

// What the product has given up itself needs no time to be known.
func TestI1_TheNextVictimBeforeTheLastIsBack(t *testing.T) {
	b := newTape(three, 0)
	b.release(1, 2)
	b.ends(1.2, 2)
	b.pod(1.6, 2, func(p *observer.PodState) { *p = observer.PodState{UID: "second", Revision: newRevision} })
	b.write(1.7, func(s *observer.SetState) { s.Partition = 3 })
	b.Report.Windows[0].Closed = b.at(1.7)
	b.release(1.9, 1) // the controller waits, and the release stands
	b.pod(3, 2, func(p *observer.PodState) { p.Ready = true })
	b.Report.Replaced[0].Back = b.at(3)
	delete(b.down, 2)
	broken(t, b.stop(4), "pod 2 was not up since", "I1", "I5")
}

func TestI1_TwoPodsAwayBecauseOfUs(t *testing.T) {
	b := newTape(three, 0)
	b.release(1, 2)
	b.ends(1.2, 2)
	b.ends(1.4, 1)
	b.back(2, 2)
	broken(t, b.stop(3), "2 pods were away", "I1", "I3", "I5")
}

func TestI1_UnderOnDeleteEveryDeleteIsJudged(t *testing.T) {
	b := newTape(plan.Shape{Members: 3, OnDelete: true}, 1)
	b.befall(plan.Fault{Kind: plan.Cut}, 0, -5, 3)
	b.replace(1, 2)
	broken(t, b.stop(4), "member 0 was ill", "I1", "I5")
}

func TestI2_ALeaderIsGivenUp(t *testing.T) {
	b := newTape(three, 1)
	b.replace(1, 2)
	b.replace(5, 1) // it leads
	b.elect(5.5, 2, true)
	b.replace(9, 0)
	broken(t, b.converge(14), "released while its member led", "I2")

	others := func(second float64) Record {
		return roll(func(t *tape) {
			t.befall(plan.Fault{Kind: plan.MoveLeader}, 1, second, second)
			t.elect(second+0.1, 1, false)
			t.elect(6.5, 2, true)
		})
	}
	broken(t, others(2.9), "released while its member led", "I2") // three seconds ago can be known
	broken(t, others(5.5), "")                                    // half a second ago cannot
}

func TestI3_SeveralAreReleased(t *testing.T) {
	r := roll(nil)
	r.Report.Windows[1].Released = 2
	broken(t, r, "2 outdated pods", "I3")
}

func TestI5_TheEnd(t *testing.T) {
	b := newTape(three, 1)
	b.replace(1, 2)
	broken(t, b.stop(120), "not converged", "I5")

	late := roll(nil)
	late.Bound = 10 * time.Second
	broken(t, late, "the bound is 10s", "I5")
	late.Resumed = 1 // the roll began anew
	late.Halts = []Halt{{ID: "1", Reason: "PartitionContention", Message: "somebody"}}
	broken(t, late, "which nothing in the plan makes right", "I5")
	late.Plan.Faults = []plan.Fault{{Kind: plan.ResetPartition}}
	broken(t, late, "")
	late.Halts[0].Reason = ""
	broken(t, late, "without telling why", "I5")
}

func TestI8_MarkedTooEarly(t *testing.T) {
	mark := func(s *observer.SetState) { s.Annotations[events.AnnotationConvergedRevision] = newRevision }
	early := func(second float64, change func(*observer.SetState)) Record {
		b := newTape(three, 0)
		b.replace(1, 2)
		b.replace(4, 1)
		b.elect(7, 2, true)
		b.release(8, 0)
		b.ends(8.2, 0)
		if second < 9 {
			b.write(second, change)
			b.back(9, 0)
		} else {
			b.back(9, 0)
			b.write(second, change)
		}
		return b.converge(15)
	}
	broken(t, early(12, mark), "")
	broken(t, early(8.7, mark), "it is open", "I8")
	broken(t, early(12, func(s *observer.SetState) { mark(s); s.Observed-- }), "the target", "I8", "I5")
}

// The last successor has never been up: that it came to be half a second ago is
// no excuse.
func TestI8_MarkedBeforeTheLastSuccessorIsReady(t *testing.T) {
	b := newTape(three, 0)
	b.replace(1, 2)
	b.replace(4, 1)
	b.elect(7, 2, true)
	b.release(8, 0)
	b.ends(8.2, 0)
	b.pod(9, 0, func(p *observer.PodState) { *p = observer.PodState{UID: "last", Revision: newRevision} })
	b.write(9.1, func(s *observer.SetState) { s.Partition = 3 })
	b.Report.Windows[2].Closed = b.at(9.1)
	b.write(9.5, func(s *observer.SetState) { s.Annotations[events.AnnotationConvergedRevision] = newRevision })
	b.pod(11, 0, func(p *observer.PodState) { p.Ready = true })
	b.Report.Replaced[2].Back = b.at(11)
	delete(b.down, 0)
	broken(t, b.converge(15), "pod 0 is not up", "I8")
}

func TestI10_WhatHappensAfterTheEnd(t *testing.T) {
	for _, q := range []Quiet{{Changes: []string{"x"}}, {Writes: []string{"x"}}, {Events: []string{"x"}}} {
		r := roll(nil)
		r.Quiet = q
		broken(t, r, "after the end: x", "I10")
	}
}

func TestLostWritesAreTold(t *testing.T) {
	r := roll(nil)
	r.WriterSays = "3 of 50 acknowledged writes are lost"
	broken(t, r, "3 of 50", "Writes")
}
