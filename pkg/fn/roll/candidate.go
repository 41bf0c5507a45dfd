package roll

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// mustNotGo says that the member at index i leads or might lead. A single
// voter has nobody to hand over to; that it may be interrupted at all is the
// business of QuorumAfter.
func (v *view) mustNotGo(i int) bool {
	if v.o.Set.Replicas == 1 {
		return false
	}
	leader := v.leader()
	return leader < 0 || leader == i
}

// moveFirst moves leadership off the victim. It reports false when the victim
// is known not to lead.
func (v *view) moveFirst(victim int) (Decision, bool) {
	if !v.mustNotGo(victim) {
		return Decision{}, false
	}
	leader := v.leader()
	if leader < 0 {
		return v.block(ReasonLeaderUnknown, victim, nil, "it is not known which member leads"), true
	}
	candidates := v.candidates(victim)
	if len(candidates) == 0 {
		return v.block(ReasonNoCandidate, victim, nil, "no other member can take over the leadership"), true
	}
	to := candidates[0]
	if v.tries(to) >= v.o.Limits.MoveTries {
		return v.halt(ReasonMoveFailed, victim, fmt.Sprintf("leadership did not move to any of %d candidates in %d tries each", len(candidates), v.o.Limits.MoveTries)), true
	}
	from := v.o.Member(leader).ID
	d := v.step(StepMove, ReasonMoving, victim, fmt.Sprintf("leadership moves from %s to %s", v.o.Set.PodName(leader), v.o.Set.PodName(to)))
	d.Write.Record.Step = &Step{Kind: StepMove, Index: victim, Target: v.target(), Started: v.o.Now, From: from, To: v.o.Member(to).ID, ToIndex: to}
	d.Write.Record.BlockedBy = nil
	d.Effect = Effect{Kind: MoveLeader, Index: leader, From: from, To: v.o.Member(to).ID}
	return d, true
}

func (v *view) tries(i int) int { return v.rec.MoveTries[v.o.Member(i).ID.String()] }

// candidates are the members that could lead instead, best first.
//
// A pod already on target comes first: it will not have to give leadership up
// again, which makes one move enough unless nobody is on target yet. One failure
// does not change that, since it may be ours: a function that dies after the
// announcement makes no call. After that the fewest tries count, so that a
// failure leads to the next candidate. Among pods on target the highest index,
// since it was replaced first; among outdated ones the lowest, since it goes
// last.
func (v *view) candidates(victim int) []int {
	var list []int
	for i := range v.o.Set.Indexes() {
		m := v.o.Member(i)
		if i != victim && v.o.Pod(i).Usable() && m.Reached && !m.Learner && m.ID != 0 && m.Read == guard.Yes && guard.Lag(v.o.Snapshot, m) == 0 {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		return cmp.Or(
			preferTrue(v.tries(a) < v.o.Limits.MoveTries, v.tries(b) < v.o.Limits.MoveTries),
			cmp.Compare(max(1, v.tries(a)), max(1, v.tries(b))),
			preferTrue(!v.outdated(a), !v.outdated(b)),
			cmp.Compare(v.tries(a), v.tries(b)),
			preferTrue(v.longUp(a), v.longUp(b)),
			preferTrue(v.quick(a), v.quick(b)),
			v.byIndex(a, b),
		)
	})
	return list
}

func (v *view) longUp(i int) bool {
	return guard.SoakedFor(v.o.Snapshot, i) >= v.o.Limits.CandidateUp
}

func (v *view) quick(i int) bool { return v.o.Member(i).ReadTook <= v.o.Limits.SlowRead }

func (v *view) byIndex(a, b int) int {
	if v.outdated(a) {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

func preferTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
