package roll

import (
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// alreadyConverged is the idle set: no probe, no write. Pods that fail later
// are not our business; a pod that comes back old is, and is no longer "all
// on target".
func alreadyConverged(v *view) (Decision, bool) {
	s := v.o.Status
	if !v.allOnTarget() || !v.promoted() || s.Phase != PhaseConverged || s.ConvergedRevision != v.target() ||
		s.ConvergedToken != v.o.Release || !v.rec.Done || v.rec.UID != v.o.Record.UID || v.rec.Target != v.target() {
		return Decision{}, false
	}
	if v.o.ClaimsPartition { // we have locked it after the mark, since somebody had opened it
		d := v.step(StepHandBack, ReasonHandedBack, -1, "partition is no longer claimed, so that its owner can apply without force")
		d.Write.Status, d.Write.HandBack = s, true
		return d, true
	}
	return v.done(ReasonConverged, "converged and locked"), true
}

// converging marks a set that is wholly on target, healthy, soaked, promoted
// and locked. It comes before the halt: when a human has mended what was
// wrong, nothing is left to resume.
func converging(v *view) (Decision, bool) {
	if !v.allOnTarget() {
		return Decision{}, false
	}
	verdict := v.judge(guard.NoVictim)
	if !verdict.Only(guard.HealthGates...).Open() {
		return Decision{}, false
	}
	// A halted set is waited for as well: nothing changes at the end of the soak
	// that would make anybody ask again.
	if soak := verdict.Get(guard.Soaked); soak.Closed() {
		return v.wait(ReasonSoaking, -1, v.soakLeft(), soak.Measured), true
	}
	if !v.promoted() {
		return v.wait(ReasonPromotion, -1, soon, "every pod is on target; the controller has not promoted the revision yet"), true
	}
	return v.markConverged(), true
}

func (v *view) markConverged() Decision {
	d := v.step(StepConverge, ReasonConverged, -1, "every pod runs the target, healthy and locked")
	d.Outcome = Converged
	r := &d.Write.Record
	for i, p := range r.Pods {
		if p.Settled.IsZero() { // the last one; the others settled before their successors began
			p.Settled = v.o.Now
			r.Pods[i] = p
		}
	}
	if !r.Done || r.Last == nil { // a new token alone is no new roll
		r.Last = r.receipt(v.o.Now)
	}
	r.Done = true
	r.Step, r.BlockedBy, r.Recent = nil, nil, nil
	r.Attempts, r.MoveTries, r.Pods, r.Overrides = nil, nil, nil, nil // the receipt has them
	d.Write.Status = Status{Phase: PhaseConverged, ConvergedRevision: v.target(), ConvergedToken: v.o.Release}
	d.Write.HandBack = v.o.ClaimsPartition // whoever waited for the mark applies next, and must not conflict
	return d
}

// movingLeader leaves an announced call the time it may take. After that
// settleMove has closed it, one way or the other.
func movingLeader(v *view) (Decision, bool) {
	step := v.rec.Step
	if step == nil || step.Kind != StepMove {
		return Decision{}, false
	}
	v.wantMembers()
	if v.since(step.Started) < v.o.Limits.CallWindow {
		return v.wait(ReasonMoving, step.Index, soon, fmt.Sprintf("leadership is moving to %s", v.o.Set.PodName(step.ToIndex))), true
	}
	// The members do not agree on who leads: the gates will say so.
	v.rec.Step = nil
	v.rec.MoveTries[step.To.String()]++
	return Decision{}, false
}

// replacedPod follows the pod of the step in flight until it is up, healthy
// and soaked. Its deadlines are the only way into a halt by time.
func replacedPod(v *view) (Decision, bool) {
	step := v.rec.Step
	if !step.replaces() || step.Index >= v.o.Set.Replicas {
		return Decision{}, false
	}
	pod := v.o.Pod(step.Index)
	switch {
	case pod.Exists && !pod.Terminating && pod.UID == step.PodUID:
		return v.notReplaced(*step)
	case v.away(step.Index):
		if v.since(step.Started) >= v.o.Limits.ReadyTimeout {
			return v.haltAway(*step, pod), true
		}
		return v.wait(ReasonPodAway, step.Index, steady, v.o.Set.PodName(step.Index)+" is being replaced"), true
	case pod.Revision != v.target():
		return v.cameBackOld(*step, pod)
	case !pod.Ready:
		return v.notReady(*step, pod), true
	}
	return v.unhealthy(*step, pod)
}

// notReplaced: locked again, or the delete not yet made. Plan afresh once no
// call can be under way.
func (v *view) notReplaced(step Step) (Decision, bool) {
	if step.Kind == StepDelete && v.since(step.Started) < v.o.Limits.CallWindow {
		return v.wait(ReasonPodAway, step.Index, soon, "the delete is under way"), true
	}
	v.rec.Step = nil
	return Decision{}, false
}

// cameBackOld: somebody locked in between, or the template has changed since.
// A pod that is starting gets its time; then it is a victim like any other.
func (v *view) cameBackOld(step Step, pod guard.Pod) (Decision, bool) {
	if !pod.Ready && pod.Trouble == guard.NoTrouble && v.since(step.Started) < v.o.Limits.ReadyTimeout {
		return v.wait(ReasonNotReady, step.Index, steady, v.o.Set.PodName(step.Index)+" is starting on another revision"), true
	}
	v.rec.Step = nil
	return Decision{}, false
}

func (v *view) notReady(step Step, pod guard.Pod) Decision {
	name := v.o.Set.PodName(step.Index)
	if v.since(step.Started) < v.o.Limits.ReadyTimeout {
		return v.wait(ReasonNotReady, step.Index, steady, name+" is starting: "+orWords(pod.Detail, "not Ready yet"))
	}
	reason := ReasonNotReady
	switch pod.Trouble {
	case guard.Unschedulable:
		reason = ReasonUnschedulable
	case guard.CrashLoop, guard.ImageTrouble, guard.ConfigTrouble:
		reason = ReasonPodBroken
	}
	return v.halt(reason, step.Index, fmt.Sprintf("%s is not Ready %s after its release: %s", name, v.o.Limits.ReadyTimeout, orWords(pod.Detail, "no reason given")))
}

// unhealthy: the pod is Ready, its member or its cluster is not well yet.
// Every member has to stay well until the soak is over, not only the new one.
func (v *view) unhealthy(step Step, pod guard.Pod) (Decision, bool) {
	verdict := v.judge(guard.NoVictim)
	health := verdict.Only(guard.HealthGates...)
	if health.Open() {
		return v.soaking(step, verdict)
	}
	if !v.o.Probed || v.since(pod.UpSince()) < v.o.Limits.HealthTimeout {
		return v.wait(ReasonNotHealthy, step.Index, steady, sentence(health)), true
	}
	return v.unwell(step, health), true
}

// soaking waits out the cool-down of a healthy cluster, then ends the step.
func (v *view) soaking(step Step, verdict guard.Verdict) (Decision, bool) {
	soak := verdict.Get(guard.Soaked)
	if !soak.Closed() {
		v.settlePod(step)
		return Decision{}, false
	}
	if step.ProgressAt.IsZero() {
		return v.wait(ReasonSoaking, step.Index, v.soakLeft(), soak.Measured), true
	}
	d := v.step(StepNote, ReasonSoaking, step.Index, "healthy after all: "+soak.Measured)
	d.Outcome, d.After = Waiting, v.soakLeft()
	d.Write.Record.Step.Progress, d.Write.Record.Step.ProgressAt = 0, time.Time{}
	return d, true
}

// settlePod ends the step. It is written with whatever comes next.
func (v *view) settlePod(step Step) {
	v.rec.Step = nil
	if p, ok := v.rec.Pods[step.Index]; ok {
		p.Settled = v.o.Now
		v.rec.Pods[step.Index] = p
	}
}

// unwell is a health that did not come within its deadline. It is looked at
// twice before it becomes a halt, since one lost answer is no verdict; an alarm
// or a contradiction is one. A member that only lags is given time for as long
// as it gains ground: a snapshot of a large database takes minutes. Progress is
// zero in a note of anything else.
func (v *view) unwell(step Step, health guard.Verdict) Decision {
	if len(v.o.Alarms) > 0 || !health.Get(guard.RevisionsConsistent).Passed {
		return v.halt(ReasonNotHealthy, step.Index, sentence(health))
	}
	patience, applied := secondLook, uint64(0)
	if onlyLags(health) {
		patience, applied = v.o.Limits.HealthTimeout, v.o.Member(step.Index).Last.Applied
	}
	if noted := !step.ProgressAt.IsZero() && (applied > 0) == (step.Progress > 0); noted {
		if v.since(step.ProgressAt) < min(patience, v.o.Limits.HealthTimeout) {
			return v.wait(ReasonNotHealthy, step.Index, steady, sentence(health))
		}
		if applied <= step.Progress {
			return v.halt(ReasonNotHealthy, step.Index, fmt.Sprintf("no better %s after it was noted: %s", patience, sentence(health)))
		}
	}
	d := v.step(StepNote, ReasonNotHealthy, step.Index, sentence(health))
	d.Outcome, d.After = Waiting, steady
	d.Write.Record.Step.Progress, d.Write.Record.Step.ProgressAt = applied, v.o.Now
	return d
}

// onlyLags says that a member is behind and nothing else is wrong. A member
// that is far behind cannot answer a linearizable read in time either.
func onlyLags(health guard.Verdict) bool {
	return !health.Get(guard.CaughtUp).Passed && len(health.Without(guard.CaughtUp, guard.LinearizableRead).Objections()) == 0
}
