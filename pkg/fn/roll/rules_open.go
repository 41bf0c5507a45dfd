package roll

import (
	"fmt"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// openSet is the ratchet. While the set is open the only things ever done are
// to wait for the released pod, to delete a pod that is broken already, and
// to lock. The rules for locking:
//
//   - once the released pod is a new object, lock at once: it stays on the
//     revision it was created with;
//   - while the released pod is missing or terminating, do not lock: it would
//     come back old. Past the deadline lock all the same: old is safe;
//   - a release that was not acted upon is taken back when it is too old,
//     when a gate closes, or when anything else could go instead.
func openSet(v *view) (Decision, bool) {
	if !v.o.Set.Open() {
		return Decision{}, false
	}
	step := v.ownRelease()
	if step == nil {
		return v.foundOpen(), true
	}
	pod := v.o.Pod(step.Index)
	switch {
	case pod.Exists && !pod.Terminating && pod.UID != step.PodUID:
		return v.lock(ReasonRelocked, step.Index, "the new pod object exists; the set is locked while it starts"), true
	case v.away(step.Index):
		return v.releasedAway(*step), true
	}
	return v.notActedUpon(*step), true
}

// ownRelease is our step in flight that explains the open partition.
func (v *view) ownRelease() *Step {
	s := v.rec.Step
	if s == nil || s.Locked || (s.Kind != StepRelease && s.Kind != StepRecover) || s.Partition != v.o.Set.Partition {
		return nil
	}
	return s
}

// lockable says that no released pod is away, so that locking brings no old
// revision back. Under Parallel nothing but the lock stops the controller, so
// a second released pod outweighs that.
func (v *view) lockable() bool {
	return !v.releasedPodAway() || (v.o.Set.Management != guard.OrderedReady && v.releasedOutdated() > 0)
}

// severalCouldGo says that the shape lets the controller take another pod
// while one is away, or hides pods from us. An old revision that comes back is
// then the lesser evil.
func (v *view) severalCouldGo() bool {
	return (v.o.Set.MaxUnavailable != 1 && v.releasedOutdated() > 0) || v.o.Set.Replicas > v.o.Set.Indexes()
}

// releasedPodAway: a pod that is never read may be away, for all we know.
func (v *view) releasedPodAway() bool {
	for i := max(0, v.o.Set.Partition); i < v.o.Set.Indexes(); i++ {
		if v.away(i) {
			return true
		}
	}
	return v.o.Set.Replicas > v.o.Set.Indexes()
}

// releasedOutdated counts the pods that the controller may still take.
func (v *view) releasedOutdated() int {
	n := 0
	for i := max(0, v.o.Set.Partition); i < v.o.Set.Indexes(); i++ {
		if v.outdated(i) && !v.away(i) {
			n++
		}
	}
	return n
}

// foundOpen handles a partition that no step of ours explains: an idle set
// left open, a foreign write, or a set that was rolling when it was adopted.
func (v *view) foundOpen() Decision {
	if v.lockable() || v.isNew() {
		return v.keepStanding(v.lock(ReasonFoundOpen, -1, fmt.Sprintf("found open at partition %d", v.o.Set.Partition)))
	}
	step := v.rec.Step
	if step == nil || step.Kind != StepAdopt {
		d := v.step(StepNote, ReasonFoundOpen, -1, "found open with a pod away; it is locked once the pod is back")
		d.Write.Record.Step = &Step{Kind: StepAdopt, Target: v.target(), Partition: v.o.Set.Partition, Started: v.o.Now}
		return v.keepStanding(d)
	}
	if v.since(step.Started) >= v.o.Limits.ReadyTimeout {
		return v.halt(ReasonPodNotRecreated, -1, "a pod of the set found open did not come back")
	}
	return v.wait(ReasonPodAway, -1, steady, "waiting for the missing pod before locking")
}

// isNew: a set whose pods are still being created has one revision, on which
// they come whether it is open or locked. The controller may not even have
// looked at it yet.
func (v *view) isNew() bool {
	s := v.o.Set
	return !v.hasFormed() && (s.ObservedGeneration == 0 || s.StatusCurrent() && s.CurrentRevision != "" && s.CurrentRevision == s.UpdateRevision)
}

// keepStanding leaves the status of a set that stands still as it is: locking
// what somebody else has opened neither ends a halt nor unmarks a set.
func (v *view) keepStanding(d Decision) Decision {
	if v.halted() || v.rec.Done || v.o.Paused {
		d.Write.Status = v.o.Status
	}
	return d
}

// releasedAway waits for the victim's successor.
func (v *view) releasedAway(step Step) Decision {
	pod := v.o.Pod(step.Index)
	if v.o.Set.Management != guard.OrderedReady && v.releasedOutdated() > 0 {
		return v.lock(ReasonRelocked, step.Index, "another released pod could go; nothing but the lock holds it under Parallel")
	}
	if v.since(step.Started) >= v.o.Limits.ReadyTimeout {
		return v.haltAway(step, pod)
	}
	return v.wait(ReasonPodAway, step.Index, soon, v.o.Set.PodName(step.Index)+" is being replaced")
}

func (v *view) haltAway(step Step, pod guard.Pod) Decision {
	name := v.o.Set.PodName(step.Index)
	if pod.Exists {
		return v.halt(ReasonPodStuckTerminating, step.Index, fmt.Sprintf("%s is still terminating on node %q after %s", name, pod.Node, v.o.Limits.ReadyTimeout))
	}
	return v.halt(ReasonPodNotRecreated, step.Index, fmt.Sprintf("%s was not created again within %s", name, v.o.Limits.ReadyTimeout))
}

// notActedUpon looks at a release whose victim is still the same pod. The
// guard is asked in full again, since a lowered partition is a standing order
// that may fire at any later time. The victim may have gone since the pods were
// read, and closed a gate by that; see Decision.TakesBack.
func (v *view) notActedUpon(step Step) Decision {
	name := v.o.Set.PodName(step.Index)
	switch {
	case v.since(step.Started) >= v.o.Limits.ArmWindow:
		return v.disarm(step, true, fmt.Sprintf("%s was not replaced within %s", name, v.o.Limits.ArmWindow))
	case step.Target != v.target(), v.o.Set.Generation != v.o.Record.Generation:
		// The generation tells it before the controller has named a revision.
		return v.disarm(step, false, "the spec changed after the release")
	case v.releasedOutdated() > 1 || v.otherReleasedAway(step.Index):
		return v.disarm(step, false, "another released pod could go as well")
	}
	plan := guard.Plan{Victim: step.Index, Stuck: step.Kind == StepRecover}
	verdict := v.judge(plan).Without(guard.StatusCurrent) // the write itself made it stale
	if !verdict.Open() {
		return v.disarm(step, false, "a gate closed after the release: "+sentence(verdict))
	}
	if v.mustNotGo(step.Index) {
		return v.disarm(step, false, name+" came to lead after the release")
	}
	if step.Kind == StepRecover {
		return v.deleteAgain(step)
	}
	return v.wait(ReasonReleased, step.Index, soon, name+" is released; waiting for the controller")
}

func (v *view) otherReleasedAway(index int) bool {
	for i := max(0, v.o.Set.Partition); i < v.o.Set.Indexes(); i++ {
		if i != index && v.away(i) {
			return true
		}
	}
	return false
}

// disarm takes the release back. It counts as an attempt only when nobody
// acted on it: a gate that closed in between is not the pod's fault.
func (v *view) disarm(step Step, counts bool, why string) Decision {
	d := v.lock(ReasonDisarmed, step.Index, why)
	r := &d.Write.Record
	r.Step = nil
	if !counts && r.Attempts[step.Index] > 0 {
		r.Attempts[step.Index]--
	}
	return d
}

// deleteAgain repeats the delete of a recovery whose function died between
// the announcement and the call. The UID precondition makes repeating safe.
func (v *view) deleteAgain(step Step) Decision {
	if v.since(step.Started) < soon {
		return v.wait(ReasonReleased, step.Index, soon, "the delete is under way")
	}
	d := v.wait(ReasonReleased, step.Index, soon, "deleting the broken pod again")
	d.Effect = Effect{Kind: DeletePod, Index: step.Index, PodUID: step.PodUID}
	return d
}
