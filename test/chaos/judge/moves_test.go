package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

func TestI9_TooManyMoves(t *testing.T) {
	more := func(cause func(*tape)) Record {
		return roll(func(t *tape) {
			if cause != nil {
				cause(t)
			}
			t.elect(5.2, 0, true)
			t.elect(5.4, 2, true)
		})
	}
	broken(t, more(nil), "2 leader moves, at most 1 were needed by then", "I9")
	if v := broken(t, more(func(t *tape) {
		t.befall(plan.Fault{Kind: plan.ChangeTemplate}, None, 1, 1)
		t.befall(plan.Fault{Kind: plan.ChangeTemplate}, None, 2, 2)
	}), ""); v.Allowed != 3 {
		t.Errorf("%d moves allowed, want 3", v.Allowed)
	}
}

// What comes after a move has not forced it.
func TestI9_WhatForcesAMoveComesBeforeIt(t *testing.T) {
	after := func(second float64) Record {
		return roll(func(t *tape) {
			t.elect(5.2, 0, true) // it has to hand over once more, after nine seconds
			t.befall(plan.Fault{Kind: plan.ChangeTemplate}, None, 1, 1)
			t.befall(plan.Fault{Kind: plan.ChangeTemplate}, None, second, second)
		})
	}
	broken(t, after(9), "")
	broken(t, after(9.7), "3 leader moves, at most 2 were needed by then", "I9")
}

// A roll that begins anew needs what a roll needs from there: two moves where the
// last one has just brought leadership to the first victim.
func TestI9_ANewTemplateFindsTheFirstVictimLeading(t *testing.T) {
	anew := func(second float64) Record {
		return roll(func(t *tape) {
			t.befall(plan.Fault{Kind: plan.ChangeTemplate}, None, second, second)
			t.elect(5.2, 1, true)
			t.replace(5.3, 2)
			t.elect(8.5, 2, true)
		})
	}
	moves := func(f Finding) bool { return f.Invariant == "I9" }
	if v := Judge(anew(5.1)); v.Allowed != 3 || slices.ContainsFunc(v.Findings, moves) {
		t.Errorf("it led when the template changed: %d allowed, %+v", v.Allowed, v.Findings)
	}
	if v := Judge(anew(4)); v.Allowed != 3 || slices.ContainsFunc(v.Findings, moves) {
		t.Errorf("the move was under way: %d allowed, %+v", v.Allowed, v.Findings)
	}
	if v := Judge(anew(1)); v.Allowed != 2 || !slices.ContainsFunc(v.Findings, moves) {
		t.Errorf("it led long after: %d allowed, %+v", v.Allowed, v.Findings)
	}
}

// A pod that comes back outdated has to go again.
func TestI9_APodThatCameBackOutdated(t *testing.T) {
	again := func(revision string) Record {
		return roll(func(t *tape) {
			t.befall(plan.Fault{Kind: plan.ChangeTemplate}, None, 1, 1)
			t.ends(5.05, 2) // it came back on this revision
			t.pod(5.1, 2, func(p *observer.PodState) { *p = observer.PodState{UID: "again", Revision: revision} })
			t.pod(5.15, 2, func(p *observer.PodState) { p.Ready = true })
			t.Report.Replaced[1].Back = t.at(5.15)
			delete(t.down, 2)
			t.elect(5.2, 0, true)
		})
	}
	if v := Judge(again(oldRevision)); slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Invariant == "I9" }) {
		t.Errorf("a pod that has to go again: %+v", v.Findings)
	}
	if v := Judge(again(newRevision)); !slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Invariant == "I9" }) {
		t.Errorf("a pod that came back on target forces no move: %+v", v.Findings)
	}
}

// A member that was asked twice in vain may be passed over for one that has to
// hand over again; one that was asked once, however often that was written, may not.
func TestI9_AMemberThatWasAskedTwiceInVain(t *testing.T) {
	asked := func(moves ...observer.Announcement) Record {
		return roll(func(t *tape) {
			for n, m := range moves {
				m.At, m.Seq, m.From = t.at(5.1), int64(n), id(2)
				t.Report.Announced = append(t.Report.Announced, m)
			}
			t.befall(plan.Fault{Kind: plan.ChangeTemplate}, None, 1, 1) // for one more
			t.elect(5.2, 0, true)                                       // it has to hand over once more, after nine seconds
		})
	}
	to := func(i int, began int) observer.Announcement {
		return observer.Announcement{To: id(i), Began: time.Unix(int64(began), 0)}
	}
	for name, c := range map[string]struct {
		moves   []observer.Announcement
		allowed int
	}{
		"asked twice":                {[]observer.Announcement{to(1, 1), to(1, 2), to(0, 3)}, 3},
		"asked once, written twice":  {[]observer.Announcement{to(1, 1), to(1, 1), to(0, 3)}, 2},
		"asked once":                 {[]observer.Announcement{to(1, 1), to(0, 3)}, 2},
		"asked twice, not passed by": {[]observer.Announcement{to(1, 1), to(1, 2), to(1, 3)}, 2},
	} {
		v := Judge(asked(c.moves...))
		condemned := slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Invariant == "I9" })
		if v.Allowed != c.allowed || condemned != (c.allowed < 3) {
			t.Errorf("%s: %d allowed, %+v", name, v.Allowed, v.Findings)
		}
	}
}
