package roll

import (
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// rule is one line of the decision order. It says whether it matches and, if
// so, what to do.
type rule struct {
	name   string
	decide func(*view) (Decision, bool)
}

// rules is the decision order; the first match wins. A lock comes before
// everything that may stand still, so that no halt, pause or blocked gate
// ever leaves the set open.
var rules = []rule{
	{"the event belongs to an older chain", staleEvent},
	{"the set is not ours", notOurs},
	{"the shape is unsupported", unsupportedShape},
	{"the set is open", openSet},
	{"the status is stale", staleStatus},
	{"everything has converged and is marked", alreadyConverged},
	{"everything has converged", converging},
	{"the roll is halted", haltedRoll},
	{"the roll is paused", pausedRoll},
	{"the configuration cannot be used", brokenConfig},
	{"a leader move is under way", movingLeader},
	{"a replaced pod is not back", replacedPod},
	{"nothing is outdated", nothingOutdated},
	{"the template keeps changing", flapping},
	{"an outdated pod is broken", brokenPod},
	{"the gates are closed", closedGates},
	{"the victim leads", leadingVictim},
	{"the next pod is released", nextPod},
}

// Rules lists the names of the rules in their order, for reports of which of
// them were met.
func Rules() []string {
	names := make([]string, 0, len(rules))
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// Next decides what to do with the set. It is total: any observation, however
// broken, gets a decision, and a decision made without a reading is never
// more disruptive than one made with it.
//
// If the decision Wants something, the caller reads it and calls Next again;
// acting on the first answer would still be safe.
func Next(o Observed) Decision {
	v := newView(o)
	for _, r := range rules {
		d, ok := r.decide(v)
		if !ok {
			continue
		}
		d.Rule = r.name
		d.Wants = v.wants
		return v.finish(d)
	}
	// Unreachable: the last rule always matches.
	return v.finish(v.block(ReasonGatesClosed, -1, nil, "no rule matched"))
}

// finish completes the write: the sequence, the key of the record, and any
// unplanned election that would otherwise be forgotten.
func (v *view) finish(d Decision) Decision {
	if d.Write == nil && v.rec.Unplanned > v.alreadyCounted() && !v.rec.Done && v.active() {
		status := v.o.Status
		d.Write, d.Step = &Write{Record: v.rec.clone(), Status: status}, StepNote
	}
	if d.Write == nil {
		return d
	}
	r := &d.Write.Record
	r.UID, r.Seq = v.o.Set.UID, v.o.Record.Seq+1
	r.Generation = v.o.Set.Generation
	if d.Write.SetPartition && d.Write.Partition != v.o.Set.Partition {
		r.Generation++ // our own write is the next generation
	}
	if d.Write.Status.Phase == PhaseHalted && d.Outcome == Halted {
		d.Write.Status.HaltID = r.haltID(d.Write.Status.HaltedRevision)
	}
	return d
}

// alreadyCounted is how many unplanned elections of this roll are on record. A
// roll that has just taken over an unfinished one has none, and must write the
// first it sees: counted anew at each look, it would always have happened just
// now, and TermStable would never open again.
func (v *view) alreadyCounted() int {
	if v.o.Record.Target != v.rec.Target {
		return 0
	}
	return v.o.Record.Unplanned
}

// active says that this roll has begun to touch the cluster.
func (v *view) active() bool {
	return v.o.Set.Managed && !v.o.Set.Deleting && v.o.Record.UID == v.o.Set.UID &&
		v.o.Record.Seq > 0 && v.o.Status.Phase != PhaseHalted && v.o.Status.Phase != PhasePaused
}

func staleEvent(v *view) (Decision, bool) {
	if v.o.Ask.Kind != Continue || v.o.Ask.Seq == v.o.Record.Seq {
		return Decision{}, false
	}
	return v.done(ReasonStaleEvent, "another step has been taken since"), true
}

func notOurs(v *view) (Decision, bool) {
	switch {
	case v.o.Set.UID == "":
		return v.done(ReasonGone, "the set does not exist"), true
	case !v.o.Set.Managed:
		return v.done(ReasonNotManaged, "the opt-in label is missing"), true
	case v.o.Set.Deleting:
		return v.done(ReasonGone, "the set is being deleted"), true
	}
	return Decision{}, false
}

// unsupportedShape still locks a set that is open: whatever is wrong with it,
// the controller must not go on by itself. Only a pod that we released, and
// that nothing but its own successor can follow, is given its deadline.
func unsupportedShape(v *view) (Decision, bool) {
	f := guard.Ask(guard.ShapeSupported, v.o.Snapshot, guard.NoVictim)
	if f.Passed {
		return Decision{}, false
	}
	if v.o.Set.Open() {
		if v.lockable() || v.severalCouldGo() {
			return v.keepStanding(v.lock(ReasonShapeUnsupported, -1, f.Measured)), true
		}
		if step := v.ownRelease(); step != nil && v.away(step.Index) {
			return v.releasedAway(*step), true
		}
	}
	if v.halted() {
		return v.done(v.o.Status.Reason, "halted as "+v.o.Status.HaltID), true
	}
	return v.block(ReasonShapeUnsupported, -1, guard.Verdict{f}, f.Measured), true
}

func staleStatus(v *view) (Decision, bool) {
	if v.o.Set.StatusCurrent() {
		return Decision{}, false
	}
	return v.wait(ReasonStatusStale, -1, soon, "the controller has not seen the latest spec"), true
}

func haltedRoll(v *view) (Decision, bool) {
	if !v.halted() {
		return Decision{}, false
	}
	id := v.o.Status.HaltID
	if v.o.ResumeToken != id && (v.o.Ask.Kind != Resume || v.o.Ask.HaltID != id) {
		return v.done(v.o.Status.Reason, "halted as "+id), true
	}
	d := v.step(StepResume, ReasonResumed, -1, "halt "+id+" cleared; every gate is asked again")
	r := &d.Write.Record
	r.Step, r.Attempts, r.MoveTries, r.Contention, r.Recent = nil, nil, nil, 0, nil
	r.Cluster, r.Members = 0, nil // learned anew: a member may have been replaced by hand meanwhile
	d.Write.ClearResume = v.o.ResumeToken != ""
	return d, true
}

// pausedRoll comes after the lock and after convergence: a pause holds back
// disruptive steps only.
func pausedRoll(v *view) (Decision, bool) {
	if !v.o.Paused {
		return Decision{}, false
	}
	d := v.step(StepNote, ReasonPaused, -1, "paused by annotation; remove it to go on")
	d.Outcome, d.After = Done, 0
	d.Write.Status.Phase = PhasePaused
	if d.Write.Status.same(v.o.Status) {
		d.Write, d.Step = nil, NoStep
	}
	return d, true
}

func brokenConfig(v *view) (Decision, bool) {
	if v.o.Config == nil {
		return Decision{}, false
	}
	return v.block(v.o.Config.Reason, -1, nil, v.o.Config.Message), true
}
