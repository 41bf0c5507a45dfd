package roll

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// flapping stops a template that changes faster than it can be rolled out.
func flapping(v *view) (Decision, bool) {
	if n := len(v.rec.Recent); n > v.o.Limits.RevisionsPerHour {
		return v.halt(ReasonRevisionFlapping, -1, fmt.Sprintf("%d templates within an hour, none rolled out", n)), true
	}
	return Decision{}, false
}

// broken says that an outdated pod will not become Ready by waiting: it is
// in a trouble that does not pass, or has been down for the health timeout.
func (v *view) broken(i int) bool {
	p := v.o.Pod(i)
	return v.outdated(i) && p.Owned && !p.Terminating && !p.Ready &&
		(p.Trouble != guard.NoTrouble || v.since(p.ReadyChanged) >= v.o.Limits.HealthTimeout)
}

// brokenPod recovers an outdated pod that is down already, as long as the
// rest holds quorum without it. Under OrderedReady such a pod stops the
// controller from replacing anything, itself included, so we delete it.
//
// At the highest outdated index it is released first and returns on the
// target. Below that it is deleted while locked and returns on the current
// revision; that helps only if it is not on that revision already.
func brokenPod(v *view) (Decision, bool) {
	first, index := v.highestOutdated(), v.highestBroken()
	if index < 0 {
		return Decision{}, false
	}
	locked := v.o.Set.Strategy == guard.RollingUpdate && index != first
	if locked && v.o.Pod(index).Revision == v.o.Set.CurrentRevision {
		return v.block(ReasonSickMember, index, v.judge(guard.Plan{Victim: first}).Objections(), v.o.Set.PodName(index)+" is down on the revision it would return to"), true
	}
	plan := guard.Plan{Victim: index, Stuck: true}
	verdict := v.judge(plan)
	if !verdict.Open() {
		reason := gateReason(v, verdict)
		return v.block(reason, index, verdict, sentence(verdict)+v.wayOut(reason, index)), true
	}
	if d, leads := v.moveFirst(index); leads {
		return d, true
	}
	return v.recover(index, locked, verdict), true
}

// wayOut is for people: without a quorum we give up no pod, not even a broken
// one, and a set of one has no quorum without its only pod. It is said only
// where a delete costs nothing, since the member is dead, and mends something,
// since the pod comes back on another revision.
func (v *view) wayOut(reason Reason, index int) string {
	pod := v.o.Pod(index)
	back := v.o.Set.Strategy == guard.RollingUpdate && pod.Revision == v.o.Set.CurrentRevision
	if reason != ReasonNoQuorum || back || v.o.Member(index).Reached || !dead(pod.Trouble) {
		return ""
	}
	name := v.o.Set.PodName(index)
	return fmt.Sprintf("; %s is broken on revision %s; to have it created from another, run: kubectl -n %s delete pod %s", name, pod.Revision, v.o.Set.Namespace, name)
}

// dead says that the kubelet itself reports no running process. That we do not
// reach a member is no sign: it may be our own network.
func dead(t guard.Trouble) bool {
	return t == guard.CrashLoop || t == guard.ImageTrouble || t == guard.ConfigTrouble
}

// highestBroken is the broken pod that goes first; -1 when none is broken.
func (v *view) highestBroken() int {
	index := -1
	for i := range v.o.Set.Indexes() {
		if v.broken(i) {
			index = i
		}
	}
	return index
}

func (v *view) recover(index int, locked bool, verdict guard.Verdict) Decision {
	if d, over := v.outOfAttempts(index); over {
		return d
	}
	v.wants.MayDelete = v.o.MayDelete == guard.Unknown
	name := v.o.Set.PodName(index)
	if v.o.MayDelete != guard.Yes {
		return v.halt(ReasonDeleteNeeded, index, fmt.Sprintf("%s is broken and we may not delete pods; run: kubectl -n %s delete pod %s, then resume", name, v.o.Set.Namespace, name))
	}
	kind := StepRecover
	if locked || v.o.Set.Strategy == guard.OnDelete {
		kind = StepDelete
	}
	return v.take(kind, ReasonRecovered, index, verdict, name+" is broken; it is deleted and created again")
}

// closedGates reports every objection at once.
func closedGates(v *view) (Decision, bool) {
	victim := v.victim()
	verdict := v.judge(guard.Plan{Victim: victim})
	if verdict.Open() {
		return Decision{}, false
	}
	if len(verdict.Objections()) == 1 && verdict.Get(guard.Soaked).Closed() {
		return v.wait(ReasonSoaking, victim, v.soakLeft(), verdict.Get(guard.Soaked).Measured), true
	}
	return v.block(gateReason(v, verdict), victim, verdict, sentence(verdict)), true
}

// leadingVictim moves the leader away before anything else.
func leadingVictim(v *view) (Decision, bool) {
	if d, leads := v.moveFirst(v.victim()); leads {
		return d, true
	}
	if left := v.o.Limits.MoveCooldown() - v.since(v.rec.MovedAt); !v.rec.MovedAt.IsZero() && left > 0 {
		return v.wait(ReasonMoving, v.victim(), v.untilSecond(left), "the cluster rests after the leader move"), true
	}
	return Decision{}, false
}

// nextPod is the step itself.
func nextPod(v *view) (Decision, bool) {
	victim := v.victim()
	if d, over := v.outOfAttempts(victim); over {
		return d, true
	}
	verdict := v.judge(guard.Plan{Victim: victim})
	name := v.o.Set.PodName(victim)
	if v.o.Set.Strategy != guard.OnDelete {
		return v.take(StepRelease, ReasonReleased, victim, verdict, name+" is released"), true
	}
	v.wants.MayDelete = v.o.MayDelete == guard.Unknown
	if v.o.MayDelete != guard.Yes {
		// Blocked, not halted: whoever deletes the pod moves the roll on.
		return v.block(ReasonDeleteNeeded, victim, nil, fmt.Sprintf("%s is next and we may not delete pods; run: kubectl -n %s delete pod %s", name, v.o.Set.Namespace, name)), true
	}
	return v.take(StepDelete, ReasonReleased, victim, verdict, name+" is deleted"), true
}

// take is the one place where a pod is given up.
//
// Invariant: the gates are open for this victim, its member does not lead,
// and the set is locked (or has no lock).
func (v *view) take(kind StepKind, reason Reason, index int, verdict guard.Verdict, message string) Decision {
	d := v.step(kind, reason, index, message)
	d.Verdict = verdict
	pod := v.o.Pod(index)
	step := &Step{Kind: kind, Index: index, PodUID: pod.UID, Target: v.target(), Partition: v.o.Set.Partition, Started: v.o.Now}
	if kind != StepDelete {
		d.Write.Partition, d.Write.SetPartition, step.Partition = index, true, index
	}
	if kind != StepRelease {
		d.Effect = Effect{Kind: DeletePod, Index: index, PodUID: pod.UID}
	}
	r := &d.Write.Record
	r.Step, r.BlockedBy = step, nil
	r.Attempts[index]++
	r.Pods[index] = PodRecord{Began: v.o.Now}
	for _, f := range verdict.Overridden() {
		if line := string(f.Gate) + ": " + f.Override; !slices.Contains(r.Overrides, line) {
			r.Overrides = append(r.Overrides, line)
		}
	}
	return d
}

// outOfAttempts halts when this pod was tried often enough for this target.
func (v *view) outOfAttempts(index int) (Decision, bool) {
	n := v.rec.Attempts[index]
	if n < v.o.Limits.Attempts {
		return Decision{}, false
	}
	name := v.o.Set.PodName(index)
	if v.rec.Contention > 0 {
		who := orWords(strings.Join(v.o.OtherManagers, ", "), "another writer")
		return v.halt(ReasonPartitionContention, index, fmt.Sprintf("%s sets partition while we roll (%d times); %s came back old", who, v.rec.Contention, name)), true
	}
	return v.halt(ReasonAttemptsExhausted, index, fmt.Sprintf("%s was tried %d times", name, n)), true
}

// gateReason picks the most telling reason for closed gates.
func gateReason(v *view, verdict guard.Verdict) Reason {
	reached, started, ready, silent := 0, true, false, false
	leaders := map[guard.ID]bool{}
	for i := range v.o.Set.Indexes() {
		m := v.o.Member(i)
		ready = ready || v.o.Pod(i).Ready
		silent = silent || v.o.Pod(i).Ready && !m.Reached
		if m.Reached {
			reached++
			leaders[m.Leader] = true
		}
		for _, p := range m.Peers {
			started = started && p.Name != ""
		}
	}
	switch {
	case v.o.Probed && reached == 0 && ready:
		return ReasonNoneReached
	case v.o.Probed && reached < v.o.Set.Replicas/2+1:
		return ReasonNoQuorum
	case len(leaders) > 1:
		return ReasonSplitView
	case v.o.Probed && silent:
		return ReasonMemberSilent
	case !started:
		return ReasonMembershipPending
	case !verdict.Get(guard.RevisionsConsistent).Passed && v.o.Probed:
		return ReasonRevisionMismatch
	}
	return ReasonGatesClosed
}
