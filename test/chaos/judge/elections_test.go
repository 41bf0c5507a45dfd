package judge

import (
	"testing"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// unannounced is a roll with an election that nobody announced, from 2 to 0.
func unannounced(kind plan.Kind, member int, from, to float64) Record {
	return roll(func(t *tape) {
		if kind != "" {
			t.befall(plan.Fault{Kind: kind}, member, from, to)
		}
		t.elect(5.5, 0, false)
	})
}

func TestAnElectionIsExplainedOnlyByAFaultOfTheRightMemberAtTheRightTime(t *testing.T) {
	for _, c := range []struct {
		name      string
		r         Record
		explained bool
	}{
		{"no fault", unannounced("", None, 0, 0), false},
		{"the leader froze", unannounced(plan.Freeze, 2, 5.1, 5.8), true},
		{"the leader was frozen long ago", unannounced(plan.Freeze, 2, -8, -2), false},
		{"a follower froze", unannounced(plan.Freeze, 0, 5.4, 5.8), false},
		{"the function died", unannounced(plan.KillFunction, None, 5, 5), false},
		{"the API server was away", unannounced(plan.KillAPIServer, None, 4, 6), false},
		{"somebody moved it there", unannounced(plan.MoveLeader, 0, 5.4, 5.5), true},
		{"somebody moved it elsewhere", unannounced(plan.MoveLeader, 1, 5.4, 5.5), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.explained {
				broken(t, c.r, "no fault explains it", "Elections")
				return
			}
			if v := broken(t, c.r, ""); len(v.Explained) != 1 {
				t.Errorf("explained are %+v", v.Explained)
			}
		})
	}
}

// A move that was announced to a member just before it was cut off reaches it
// when it is back. Behind as it is, it only ends the term: another one wins the
// next but one.
func TestAMoveToAMemberThatIsCutOffMayEndWithAnother(t *testing.T) {
	cut := func(announced bool, terms uint64) Record {
		return roll(func(t *tape) {
			if announced {
				t.Report.Announced = append(t.Report.Announced, observer.Announcement{At: t.at(5.1), From: id(2), To: id(1)})
			}
			t.befall(plan.Fault{Kind: plan.Cut}, 1, 5.2, 5.3)
			t.elect(5.5, 0, false)
			won := &t.Report.Elections[len(t.Report.Elections)-1]
			won.To = won.From + terms
		})
	}
	if v := broken(t, cut(true, 2), ""); len(v.Explained) != 1 {
		t.Errorf("explained are %+v", v.Explained)
	}
	broken(t, cut(true, 1), "no fault explains it", "Elections")
	broken(t, cut(false, 2), "no fault explains it", "Elections")
}

// A fault may bring leadership to a member that has been given up already. It
// takes it along.
func TestAMemberThatCameToLeadWhileGivenUpTakesLeadershipAlong(t *testing.T) {
	late := func(kind plan.Kind, planned bool, second float64) Record {
		return roll(func(t *tape) {
			t.replace(6, 1) // and once more, after this
			t.befall(plan.Fault{Kind: kind}, 2, 6.25, 6.3)
			t.elect(second, 1, planned)
			t.elect(6.9, 0, false)
		})
	}
	unexplained := func(r Record) (n int) {
		for _, f := range Judge(r).Findings {
			if f.Invariant == "Elections" {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		name string
		r    Record
		want int
	}{
		{"a fault made it lead after it was given up", late(plan.Freeze, false, 6.5), 0},
		{"nothing made it lead", late(plan.KillFunction, false, 6.5), 1},
		{"we made it lead", late(plan.KillFunction, true, 6.5), 1},
		{"it led before it was given up", late(plan.KillFunction, false, 6.1), 2},
	} {
		if got := unexplained(c.r); got != c.want {
			t.Errorf("%s: %d unexplained, want %d: %+v", c.name, got, c.want, Judge(c.r).Findings)
		}
	}
}

func TestOneMoveBySomebodyElseExplainsOneElection(t *testing.T) {
	r := roll(func(t *tape) {
		t.befall(plan.Fault{Kind: plan.MoveLeader}, 0, 5.3, 5.4)
		t.elect(5.4, 0, false)
		t.elect(5.5, 2, true)
		t.elect(5.6, 0, false)
	})
	broken(t, r, "no fault explains it", "Elections")
}

// A frozen follower beside a pod that is away costs three members their quorum.
func TestALostQuorumIsExplained(t *testing.T) {
	r := roll(func(t *tape) {
		t.befall(plan.Fault{Kind: plan.Freeze}, 0, 3.5, 4.5) // pod 2 came back at 2.8
		t.elect(5.5, 1, false)
		t.elect(5.7, 2, true)
	})
	if v := broken(t, r, ""); len(v.Explained) != 1 {
		t.Errorf("explained are %+v", v.Explained)
	}
}

func TestTheLeadersEvictionExplainsAnElection(t *testing.T) {
	evicted := func(member int) Record {
		return roll(func(t *tape) {
			t.Incidents = append(t.Incidents, Incident{Fault: plan.Fault{Kind: plan.Evict}, Member: member, UID: "at 1.8", From: t.at(5.3), To: t.at(5.3)})
			t.elect(5.5, 0, false)
		})
	}
	broken(t, evicted(2), "")
	broken(t, evicted(1), "no fault explains it", "Elections")
}

// An eviction beside a pod that is away costs three members their quorum, and
// whoever is left may only lead again once one of them is back. Beside pods that
// are all up it costs nothing.
func TestAnEvictionBesideAPodThatIsAwayIsExplained(t *testing.T) {
	evicted := func(second float64) Record {
		b := newTape(three, 1)
		b.release(1, 2)
		b.ends(1.2, 2)
		b.Incidents = append(b.Incidents, Incident{Fault: plan.Fault{Kind: plan.Evict}, Member: 0, UID: "first", From: b.at(second), To: b.at(second)})
		if second > 3 {
			b.back(2, 2)
		}
		b.ends(second, 0)
		b.elect(second+1, 1, false)
		b.back(second+1.1, 0)
		b.leader = 1
		if second <= 3 {
			b.back(second+2, 2)
		}
		return b.stop(20)
	}
	if v := Judge(evicted(1.5)); len(v.Explained) != 1 {
		t.Errorf("explained are %+v of %+v", v.Explained, v.Findings)
	}
	if v := Judge(evicted(8)); len(v.Explained) != 0 {
		t.Errorf("explained are %+v", v.Explained)
	}
}

// A single voter elects itself at each restart and at no other time.
func TestASingleVoterElectsItself(t *testing.T) {
	b := newTape(plan.Shape{Members: 1}, 0)
	b.replace(1, 0)
	b.elect(3, 0, false)
	broken(t, b.converge(6), "")

	b = newTape(plan.Shape{Members: 1}, 0)
	b.elect(0.5, 0, false)
	b.replace(1, 0)
	broken(t, b.converge(6), "no fault explains it", "Elections")
}
