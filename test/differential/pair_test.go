package differential

import (
	"fmt"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// pair is the same set in two worlds: that of the real controller, and that of
// the model. What others do is done in both; what the controller does each
// does by itself.
type pair struct {
	*real
	now time.Time

	decide decision
	in     statefulset.Input
	status statefulset.Status
	since  [statefulset.MostPods]time.Time // of the Ready condition
	met    *tallies
}

func newPair(in statefulset.Input, decide decision) *pair {
	p := &pair{real: newReal(), now: epoch.Time, decide: decide, in: in}
	p.status = statefulset.Status{CurrentRevision: statefulset.Unset, UpdateRevision: statefulset.Unset}
	must(p.sets.Add(newSet(&in)))
	return p
}

// syncBoth lets both sync and tells what they do differently.
func (p *pair) syncBoth(refused bool) string {
	for i := range p.in.Pods {
		p.in.Pods[i].ReadyFor = p.now.Sub(p.since[i])
	}
	p.in.Current = p.status.CurrentRevision
	if p.met != nil {
		p.met.count(single{in: p.in, old: p.status})
	}
	p.refusesStatus = refused
	real := p.outcomeOf(p.sync(p.now))
	plan := p.decide(&p.in)
	modelled := outcomeOfModel(p.decide, p.in, p.status)
	if refused && modelled.Writes {
		modelled.Status, modelled.Writes, modelled.Problem = statefulset.Status{}, false, real.Problem
		if real.Problem == "" {
			modelled.Problem = "the status should have been refused"
		}
	}
	if real != modelled {
		return fmt.Sprintf("\n  real:  %+v\n  model: %+v", real, modelled)
	}
	p.carryOut(&plan, refused)
	return ""
}

// carryOut is the model's side of a sync: its API server.
func (p *pair) carryOut(plan *statefulset.Plan, refused bool) {
	for i := range p.in.Replicas {
		if plan.Deletes[i] != 0 {
			p.in.Pods[i].Terminating = true
		}
		if r := plan.Creates[i]; r != statefulset.Unset {
			p.in.Pods[i], p.since[i] = statefulset.Pod{Phase: statefulset.Pending, Revision: r}, p.now
		}
	}
	if !refused && plan.Status.Differs(p.status) {
		p.status = plan.Status
	}
}

// move gives pod i another phase and readiness in both worlds.
func (p *pair) move(i int, phase statefulset.Phase, ready bool) {
	pod := &p.in.Pods[i]
	if pod.Ready != ready {
		p.since[i] = p.now
	}
	pod.Phase, pod.Ready = phase, ready
	must(p.changePod(podName(i), func(r *core.Pod) {
		r.Status.Phase = [...]core.PodPhase{"", core.PodPending, core.PodRunning, core.PodFailed}[phase]
		if phase == statefulset.Finished && p.now.Unix()%2 == 0 {
			r.Status.Phase = core.PodSucceeded
		}
		c := readyCondition(*pod, meta.Time{})
		c.LastTransitionTime = meta.NewTime(p.since[i])
		r.Status.Conditions = []core.PodCondition{c}
	}))
}

// remove takes pod i away in both worlds: its graceful deletion is over.
func (p *pair) remove(i int) {
	p.in.Pods[i] = statefulset.Pod{}
	must(p.pods.Delete(p.podAt(i)))
}

// evict is a deletion by somebody else.
func (p *pair) evict(i int) {
	p.in.Pods[i].Terminating = true
	must(p.changePod(podName(i), func(r *core.Pod) { r.DeletionTimestamp = &epoch }))
}

// difference tells how the two worlds differ; empty if they do not.
func (p *pair) difference() string {
	set := p.set()
	if got := statusOf(&set.Status); got != p.status {
		return fmt.Sprintf("status: real %+v, model %+v", got, p.status)
	}
	if set.Generation != p.in.Generation {
		return fmt.Sprintf("generation: real %d, model %d", set.Generation, p.in.Generation)
	}
	for i, pod := range p.in.Pods {
		pod.ReadyFor = 0
		if got := podOf(p.podAt(i)); got != pod {
			return fmt.Sprintf("%s: real %+v, model %+v", podName(i), got, pod)
		}
	}
	return ""
}

// podOf is a real pod in the model's terms, its age excepted.
func podOf(p *core.Pod) statefulset.Pod {
	if p == nil {
		return statefulset.Pod{}
	}
	phases := map[core.PodPhase]statefulset.Phase{
		core.PodPending: statefulset.Pending, core.PodRunning: statefulset.Running, core.PodFailed: statefulset.Finished, core.PodSucceeded: statefulset.Finished,
	}
	ready := len(p.Status.Conditions) > 0 && p.Status.Conditions[0].Status == core.ConditionTrue
	return statefulset.Pod{
		Phase: phases[p.Status.Phase], Terminating: p.DeletionTimestamp != nil, Ready: ready,
		Revision: revisionNumber(p.Labels[apps.StatefulSetRevisionLabel]),
	}
}
