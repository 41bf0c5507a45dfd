package roll

import (
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// The term ledger. Raft's term rises by one with every election. The term at
// the start plus our own moves is therefore the expected term, and any excess
// is an election nobody planned. Everything here is derived from the record
// that was last written and a live reading, so a crash between two writes
// repeats the derivation and never the count.

// settled brings the record up to date with what the members say.
func (r Record) settled(s guard.Snapshot) Record {
	if r.Done {
		return r // elections between two rolls are nobody's business here
	}
	r.settleForeignLock(s.Set)
	r.notePods(s)
	r.learnBaseline(s)
	term := s.AgreedTerm()
	if term == 0 {
		return r
	}
	if r.Term == 0 {
		r.FirstTerm, r.Term = term, term
	}
	r.settleMove(s, term)
	if term > r.Term {
		r.Unplanned += int(term - r.Term)
		r.UnplannedAt, r.Term = s.Now, term
	}
	for i := range s.Set.Indexes() {
		if m := s.Member(i); m.Reached && s.Commit > 0 {
			r.WorstLag = max(r.WorstLag, guard.Lag(s, m))
		}
	}
	return r
}

// settleMove closes an announced move once its end is known. Who leads now is
// the proof, not the answer the call gave.
func (r *Record) settleMove(s guard.Snapshot, term uint64) {
	step := r.Step
	if step == nil || step.Kind != StepMove {
		return
	}
	leader := s.LeaderIndex()
	if leader < 0 {
		return
	}
	switch id := s.Member(leader).ID; {
	case id == step.To && term > r.Term:
		r.Moves++
		r.Term++
		r.MovedAt = step.Started
		r.Step = nil
	case (id == step.From || id == step.To) && term == r.Term && s.Now.Sub(step.Started) < s.Limits.CallWindow:
		// The call may still be under way. Or it is over: a member takes notice
		// of the leader at once, of the term with the first entry it applies.
	default:
		r.MoveTries[step.To.String()]++
		r.Step = nil
	}
}

// learnBaseline remembers whom the roll began with.
func (r *Record) learnBaseline(s guard.Snapshot) {
	if r.Cluster != 0 || !guard.Ask(guard.MembershipMatches, s, guard.NoVictim).Passed {
		return
	}
	for i := range s.Set.Indexes() {
		r.Cluster = s.Member(i).Cluster
		r.Members[i] = s.Member(i).ID
	}
}

// settleForeignLock notices that somebody else raised the partition while our
// release was in flight, which brings the old revision back.
func (r *Record) settleForeignLock(set guard.Set) {
	if s := r.Step; s != nil && (s.Kind == StepRelease || s.Kind == StepRecover) && !s.Locked && set.Partition != s.Partition {
		r.Contention++
		s.Locked = true
	}
}

// notePods keeps the times of the receipt.
func (r *Record) notePods(s guard.Snapshot) {
	for i, p := range r.Pods {
		if pod := s.Pod(i); p.Ready.IsZero() && pod.Usable() && pod.Revision == r.Target {
			p.Ready = pod.ReadyChanged
			r.Pods[i] = p
		}
	}
}
