package sim

import (
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// controller is the StatefulSet controller. It works from caches of its own
// for the set and the pods, which never go back in time and never miss what
// it created or the status it wrote itself. What it decides is in the package
// statefulset, which test/differential holds against the real one.
type controller struct {
	stoppedUntil       int
	seenSet, seenPods  int  // the tick its caches are at
	wroteSet, wrotePod int  // the tick of its last status write and creation
	due                int  // when a stalled sync goes on; 0 when none is
	acted              bool // it has acted, and its status is not yet written
	plan               syncPlan
}

// syncPlan is what one sync decided, and on whose account its updates go.
type syncPlan struct {
	statefulset.Plan
	episode *episode
}

func (w *world) controllerTurn() {
	c := &w.control
	if w.goes(stopController) {
		c.stoppedUntil, c.due, c.acted = w.tick+w.between(4, 80), 0, false
		c.seenSet, c.seenPods = w.tick, w.tick
		w.tellIf("the controller stops for a while")
	}
	if w.tick < c.stoppedUntil {
		return
	}
	if c.due > 0 {
		if w.tick >= c.due {
			c.due = 0
			w.finishSync(c)
		}
		return
	}
	if !w.calm && w.chance(0.2) {
		return
	}
	s, pods, ok := w.cached()
	if !ok {
		return
	}
	in := w.sight(s, pods)
	c.plan = syncPlan{statefulset.Decide(&in), s.episode}
	if w.goes(stallController) {
		c.due = w.tick + w.between(1, 8)
		return
	}
	w.finishSync(c)
}

// finishSync acts and then writes the status, which may take a while.
func (w *world) finishSync(c *controller) {
	if !c.acted {
		w.carryOut(&c.plan)
		if c.acted = w.goes(stallController); c.acted {
			c.due = w.tick + w.between(1, 8)
			return
		}
	}
	c.acted = false
	w.writeStatus(c.plan.Status)
}

// cached gives the controller's view; not ok while it lacks its own writes.
func (w *world) cached() (*set, *[mostMembers]pod, bool) {
	c := &w.control
	now := w.tick
	lagSet, lagPods := 0, 0
	if w.goes(lagController) {
		lagSet, lagPods = w.between(0, 12), w.between(0, 12)
	}
	c.seenSet = max(c.seenSet, now-lagSet, now-frames/2)
	c.seenPods = max(c.seenPods, now-lagPods, now-frames/2)
	s, pods := &w.set, &w.pods
	if c.seenSet < now {
		s = &w.past[c.seenSet%frames].set
	}
	if c.seenPods < now {
		pods = &w.past[c.seenPods%frames].pods
	}
	return s, pods, c.seenSet >= c.wroteSet && c.seenPods >= c.wrotePod
}

// sight is the set and its pods as the controller's decision sees them.
func (w *world) sight(s *set, pods *[mostMembers]pod) statefulset.Input {
	in := statefulset.Input{
		Generation: s.gen, Replicas: s.replicas, Partition: s.partition, MaxUnavailable: s.maxUnavailable, MinReady: w.minReady,
		OnDelete: w.strategy == guard.OnDelete, Parallel: w.management == guard.Parallel, Budgeted: w.budgeted,
		Deleting: s.deleting, Template: s.template, Current: s.current,
	}
	for i := range s.replicas {
		p := &pods[i]
		in.Pods[i] = statefulset.Pod{Phase: p.phase(), Terminating: p.terminating, Ready: p.ready, Revision: p.revision}
		if p.ready && w.minReady > 0 {
			in.Pods[i].ReadyFor = w.at(w.tick).Sub(w.stamp(p.readyChange))
		}
	}
	return in
}

func (p *pod) phase() statefulset.Phase {
	switch {
	case !p.exists:
		return statefulset.Missing
	case p.failed:
		return statefulset.Finished
	case p.running:
		return statefulset.Running
	}
	return statefulset.Pending
}

// carryOut does what a sync decided.
func (w *world) carryOut(plan *syncPlan) {
	c := &w.control
	for i := range w.n() {
		switch why := plan.Deletes[i]; {
		case why&statefulset.IsOutdated != 0:
			w.controllerDeletes(i, plan.episode)
		case why != 0:
			w.controllerDeletes(i, nil)
		}
		if plan.Creates[i] != statefulset.Unset && !w.pods[i].exists {
			w.createPod(i, plan.Creates[i])
			c.wrotePod = w.tick
		}
	}
}

func (w *world) writeStatus(st statefulset.Status) {
	s := &w.set
	if st.Differs(s.computed()) {
		s.seenGen = max(s.seenGen, st.ObservedGeneration)
		s.compute(st)
		s.rv++
		w.control.wroteSet = w.tick
	}
}

func (w *world) controllerDeletes(i int, e *episode) {
	p := &w.pods[i]
	if !p.exists || p.terminating {
		return
	}
	if w.telling() {
		w.tell("controller deletes %s (%s)", podName(i), uidName(p.uid))
	}
	w.ledger.taken(w, i, e)
	w.deletePod(i, blamed(e))
}
