package fn

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Visit is everything that happened in answer to one event.
type Visit struct {
	Sight    *Sight // nil when nothing was observed
	Decision roll.Decision
	Outcome  Outcome
	Err      error // what kept the function from looking or writing; it passes
}

// wrote says that the decision's write was accepted.
func (v *Visit) wrote() bool { return v.Outcome.Deed == Written && v.Decision.Write != nil }

// seq is that of the record as it is now, as far as is known.
func (v *Visit) seq() int64 {
	if v.wrote() {
		return v.Decision.Write.Record.Seq
	}
	return v.Sight.Record.Seq
}

// fact tells what has changed; nil when nothing was written. As it rests on
// the write it is told once per change, however often an event is repeated.
func (v *Visit) fact() events.Fact {
	if !v.wrote() {
		return nil
	}
	d := v.Decision
	target := v.Sight.Set.UpdateRevision
	switch d.Outcome {
	case roll.Stepped:
		return v.stepped()
	case roll.Blocked:
		return events.Blocked{Seq: v.seq(), TargetRevision: target, Reason: string(d.Reason), Message: d.Message, Objections: objections(d.Verdict)}
	case roll.Halted:
		h := events.Halted{
			Seq: v.seq(), TargetRevision: target, HaltID: d.Write.Status.HaltID,
			Reason: string(d.Reason), Message: d.Message, Remedy: roll.Explain(d.Reason).Remedy, Pod: v.pod(),
		}
		h.Node = v.Sight.Pod(d.Victim).Node
		return h
	case roll.Converged:
		return v.converged()
	}
	return nil
}

// pod is the name of the pod that the decision is about.
func (v *Visit) pod() string {
	if v.Decision.Victim < 0 {
		return ""
	}
	return v.Sight.Set.PodName(v.Decision.Victim)
}

func (v *Visit) stepped() events.Stepped {
	d := v.Decision
	f := events.Stepped{
		Seq: v.seq(), TargetRevision: v.Sight.Set.UpdateRevision, Step: string(d.Step),
		Reason: string(d.Reason), Message: d.Message, Pod: v.pod(),
	}
	if d.Write.SetPartition {
		partition := int32(d.Write.Partition)
		f.Partition = &partition
	}
	f.Leader, f.Term = leaderAndTerm(v.Sight.Snapshot)
	return f
}

// leaderAndTerm are both text, as JSON readers lose the low bits of numbers
// of that size; empty when not known.
func leaderAndTerm(s guard.Snapshot) (leader, term string) {
	if i := s.LeaderIndex(); i >= 0 {
		leader = s.Member(i).ID.String()
	}
	if t := s.AgreedTerm(); t > 0 {
		term = strconv.FormatUint(t, 10)
	}
	return leader, term
}

func objections(verdict guard.Verdict) []events.Objection {
	var list []events.Objection
	for _, f := range verdict.Objections() {
		list = append(list, events.Objection{Gate: string(f.Gate), Measured: f.Measured, Threshold: f.Threshold, Hard: f.Kind == guard.Hard})
	}
	return list
}

// converged is the receipt of the roll.
func (v *Visit) converged() events.Converged {
	c := events.Converged{Seq: v.seq(), TargetRevision: v.Sight.Set.UpdateRevision, Release: v.Sight.Release}
	r := v.Decision.Write.Record.Last
	if r == nil {
		return c
	}
	c.StartedAt, c.FinishedAt = stamp(r.Started), stamp(r.Finished)
	c.Steps = r.Steps
	c.Moves, c.UnplannedElections, c.Overrides = r.Moves, int64(r.Unplanned), r.Overrides
	if r.WorstLag > 0 {
		c.WorstLag = strconv.FormatUint(r.WorstLag, 10)
	}
	for _, n := range r.Attempts {
		c.Attempts += n
	}
	for _, i := range slices.Sorted(maps.Keys(r.Pods)) {
		took := r.Pods[i].Settled.Sub(r.Pods[i].Began)
		c.Members = append(c.Members, events.MemberTime{Pod: v.Sight.Set.PodName(i), Seconds: took.Round(time.Millisecond).Seconds()})
	}
	return c
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
