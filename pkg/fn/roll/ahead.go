package roll

import (
	"slices"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Ahead is what a roll still has before it, for people. No decision is made
// from it.
type Ahead struct {
	Plan    guard.Plan    // the disruption that comes next; no victim when no pod is outdated
	Verdict guard.Verdict // every gate, measured for that plan
	Victims []int         // indexes of the outdated pods in the order in which they go
	Moves   int           // leader moves to come if nothing goes wrong; -1 when it is not known who leads
}

// LookAhead tells what comes next, how every gate stands to it, and what comes
// after it if nothing goes wrong.
func LookAhead(o Observed) Ahead {
	v := newView(o)
	a := Ahead{Plan: guard.NoVictim}
	switch broken := v.highestBroken(); {
	case broken >= 0:
		a.Plan = guard.Plan{Victim: broken, Stuck: true}
	case v.highestOutdated() >= 0:
		a.Plan = guard.Plan{Victim: v.victim()}
	}
	a.Verdict = guard.Judge(v.o.Snapshot, a.Plan)
	a.Victims, a.Moves = foretell(v.o)
	return a
}

// foretell plays the roll out with the rules that will decide it: who goes
// next, and who leads instead. Every member that answers is taken to be well.
func foretell(o Observed) (victims []int, moves int) {
	o.Pods, o.Members = slices.Clone(o.Pods), slices.Clone(o.Members)
	known := o.LeaderIndex() >= 0
	for i := range o.Members {
		if m := &o.Members[i]; m.Reached { // one that is silent names no leader either
			m.Learner, m.Read, m.Last.Applied = false, guard.Yes, max(o.Commit, m.Last.Applied)
		}
	}
	o.Probed = true
	for range o.Set.Indexes() {
		v := newView(o)
		victim := v.victim()
		if victim < 0 {
			break
		}
		victims = append(victims, victim)
		if known && o.Set.Replicas > 1 && victim == o.LeaderIndex() {
			moves++
			known = v.passLeadership(victim)
		}
		pod := &o.Pods[victim]
		pod.Exists, pod.Owned, pod.Terminating, pod.Ready = true, true, false, true
		pod.Revision = o.Set.UpdateRevision
	}
	if !known {
		moves = -1
	}
	return victims, moves
}

// passLeadership lets the best candidate lead; false when there is none.
func (v *view) passLeadership(victim int) bool {
	candidates := v.candidates(victim)
	if len(candidates) == 0 {
		return false
	}
	leader := v.o.Member(candidates[0]).ID
	for i := range v.o.Members { // shared with the observation that is played out
		v.o.Members[i].Leader = leader
	}
	return true
}
