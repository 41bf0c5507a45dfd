package roll

import (
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// view is an observation with what every rule derives from it.
type view struct {
	o     Observed
	rec   Record // brought up to date; not yet written
	wants Wants

	plan    guard.Plan // the plan last judged, and its verdict
	verdict guard.Verdict
}

func newView(o Observed) *view {
	rec := o.Record.begun(o).settled(o.Snapshot)
	o.Baseline = guard.Baseline{Cluster: rec.Cluster, Members: rec.Members, UnplannedAt: rec.UnplannedAt}
	return &view{o: o, rec: rec}
}

func (v *view) target() string { return v.o.Set.UpdateRevision }

// outdated says that the pod exists and does not run the target.
func (v *view) outdated(i int) bool {
	p := v.o.Pod(i)
	return p.Exists && p.Revision != v.target()
}

// away says that the pod is missing or on its way out.
func (v *view) away(i int) bool {
	p := v.o.Pod(i)
	return !p.Exists || p.Terminating
}

// highestOutdated is the only pod that a lowered partition can replace
// alone; -1 when none is outdated.
func (v *view) highestOutdated() int {
	for i := v.o.Set.Indexes() - 1; i >= 0; i-- {
		if v.outdated(i) {
			return i
		}
	}
	return -1
}

// victim is the pod to replace next; -1 when none is outdated. There is no
// cursor: it is found anew from live labels each time, so a pod that came
// back old is simply the next victim again. Under OnDelete the leader's pod
// goes last.
func (v *view) victim() int {
	highest := v.highestOutdated()
	if v.o.Set.Strategy != guard.OnDelete {
		return highest
	}
	leader := v.leader()
	for i := highest; i >= 0; i-- {
		if v.outdated(i) && i != leader {
			return i
		}
	}
	return highest
}

// leader is the index of the leading member, -1 when unknown. Asking for it
// needs the members.
func (v *view) leader() int {
	v.wantMembers()
	return v.o.LeaderIndex()
}

func (v *view) wantMembers() {
	if !v.o.Probed {
		v.wants.Members = true
	}
}

// judge evaluates all gates for the plan.
func (v *view) judge(p guard.Plan) guard.Verdict {
	v.wantMembers()
	if v.verdict == nil || v.plan != p {
		v.plan, v.verdict = p, guard.Judge(v.o.Snapshot, p)
	}
	return v.verdict
}

// allOnTarget says that every pod exists, stays, and runs the target.
func (v *view) allOnTarget() bool {
	for i := range v.o.Set.Indexes() {
		if v.away(i) || v.outdated(i) {
			return false
		}
	}
	return v.o.Set.Replicas > 0 && v.o.Set.Replicas == v.o.Set.Indexes() && v.target() != ""
}

// promoted says that an evicted pod would come back on the target. OnDelete
// sets create every pod from the update revision and are never promoted.
func (v *view) promoted() bool {
	return v.o.Set.Strategy == guard.OnDelete || v.o.Set.CurrentRevision == v.target()
}

// halted says that the halt in the annotations speaks about this roll.
func (v *view) halted() bool {
	s := v.o.Status
	return s.HaltID != "" && s.HaltedRevision == v.target() && (v.o.Record.UID == "" || v.o.Record.UID == v.o.Set.UID)
}

// since is the time from t to now; never negative.
func (v *view) since(t time.Time) time.Duration { return max(0, v.o.Now.Sub(t)) }

// blockedBy names the gates that object.
func blockedBy(verdict guard.Verdict) []string {
	var names []string
	for _, f := range verdict.Objections() {
		names = append(names, string(f.Gate))
	}
	return names
}

// How soon to look again. The watcher and pod events usually come first.
const (
	soon   = 300 * time.Millisecond // while the set is open
	steady = time.Second            // while a pod or a member comes back
	grain  = 50 * time.Millisecond  // past the second that was waited for
)

// secondLook is how long a cluster that is unwell past its deadline has to
// stay so before that is a halt.
const secondLook = 10 * time.Second

// The constructors below make every decision; none writes unless it must.

func (v *view) done(r Reason, message string) Decision {
	return Decision{Outcome: Done, Reason: r, Message: message, Victim: -1}
}

func (v *view) wait(r Reason, victim int, after time.Duration, message string) Decision {
	return Decision{Outcome: Waiting, Reason: r, Message: message, Victim: victim, After: after}
}

// step is a decision that writes. Its record and status start from the view.
func (v *view) step(kind StepKind, r Reason, victim int, message string) Decision {
	return Decision{
		Outcome: Stepped, Step: kind, Reason: r, Message: message, Victim: victim, After: soon,
		Write: &Write{Record: v.rec.clone(), Status: Status{Phase: PhaseRolling, Reason: r, Message: message}},
	}
}

// lock raises the partition; safe whenever no released pod is away.
func (v *view) lock(r Reason, victim int, message string) Decision {
	d := v.step(StepLock, r, victim, message)
	d.Write.Partition, d.Write.SetPartition = v.o.Set.Replicas, true
	switch step := d.Write.Record.Step; {
	case step == nil:
	case step.Kind == StepAdopt:
		d.Write.Record.Step = nil // it was there to measure how long the pod is away
	default:
		step.Locked = true
	}
	return d
}

// halt stops until a human or a new template; it locks in the same write if
// the set is open. The step is dropped: after a resume all is planned afresh.
func (v *view) halt(r Reason, victim int, message string) Decision {
	d := v.step(StepNote, r, victim, message)
	if v.o.Set.Open() {
		d.Step, d.Write.Partition, d.Write.SetPartition = StepLock, v.o.Set.Replicas, true
	}
	d.Outcome, d.After = Halted, 0
	d.Write.Record.Step, d.Write.Record.BlockedBy = nil, nil
	d.Write.Status.Phase = PhaseHalted
	d.Write.Status.HaltedRevision = v.rec.Target
	return d
}

// block reports what is missing. It writes only when the answer changed.
func (v *view) block(r Reason, victim int, verdict guard.Verdict, message string) Decision {
	d := v.step(StepNote, r, victim, message)
	d.Outcome, d.After, d.Verdict = Blocked, 2*time.Second, verdict
	d.Write.Status.Phase = PhaseBlocked
	d.Write.Record.BlockedBy = blockedBy(verdict)
	if d.Write.Status.same(v.o.Status) && slices.Equal(d.Write.Record.BlockedBy, v.o.Record.BlockedBy) {
		d.Write, d.Step = nil, NoStep
	}
	return d
}
