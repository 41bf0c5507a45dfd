package sim

import "github.com/etcdroll/etcdroll/pkg/guard"

// controller is the StatefulSet controller. It works from caches of its own
// for the set and the pods, which never go back in time and never miss what
// it created or the status it wrote itself.
//
// The model follows updateStatefulSet and its successors in
// k8s.io/kubernetes/pkg/controller/statefulset/stateful_set_control.go.
type controller struct {
	stoppedUntil       int
	seenSet, seenPods  int  // the tick its caches are at
	wroteSet, wrotePod int  // the tick of its last status write and creation
	due                int  // when a stalled sync goes on; 0 when none is
	acted              bool // it has acted, and its status is not yet written
	plan               syncPlan
}

// syncPlan is what one sync decided.
type syncPlan struct {
	deletes [mostMembers]deletion
	creates [mostMembers]int // the revision, noRevision for none
	status  set              // only the status fields count
}

// deletion says that a pod goes, and on whose account.
type deletion struct {
	gone    bool
	episode *episode // nil: not for an update
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
	w.reconcile(s, pods, &c.plan)
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
	w.writeStatus(&c.plan.status)
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

// reconcile decides one sync.
func (w *world) reconcile(s *set, pods *[mostMembers]pod, plan *syncPlan) {
	*plan = syncPlan{}
	for i := range plan.creates {
		plan.creates[i] = noRevision
	}
	st := &plan.status
	st.seenGen, st.current, st.update = s.gen, s.current, s.template
	if st.current == noRevision {
		st.current = st.update
	}
	n := s.replicas
	for i := range n {
		p := &pods[i]
		if !p.exists {
			continue
		}
		st.counted++
		if p.running && p.ready {
			st.ready++
		}
		if !p.terminating && p.revision == st.update {
			st.updated++
		}
		if !p.terminating && p.revision == st.current {
			st.olden++
		}
	}
	current := st.current
	if st.updated == n && st.ready == n && st.counted == n {
		st.current = st.update
	}
	if s.deleting || !w.replenish(s, pods, plan, current) || w.strategy == guard.OnDelete {
		return
	}
	w.update(s, pods, plan)
}

// replenish creates what is missing. It reports whether updates may follow.
func (w *world) replenish(s *set, pods *[mostMembers]pod, plan *syncPlan, current int) bool {
	ordered := w.management == guard.OrderedReady
	for i := range s.replicas {
		p := &pods[i]
		switch {
		case p.exists && p.failed:
			plan.deletes[i].gone = !p.terminating
			if ordered {
				return false
			}
		case !p.exists:
			plan.creates[i] = s.template
			if w.strategy == guard.RollingUpdate && i < s.partition {
				plan.creates[i] = current
			}
			if ordered {
				return false
			}
		case ordered && !w.available(p):
			return false
		}
	}
	return true
}

// available is Ready for minReadySeconds, and not terminating.
func (w *world) available(p *pod) bool {
	return p.usable() && p.running && w.at(w.tick).Sub(w.stamp(p.readyChange)) >= w.minReady
}

// carryOut does what a sync decided.
func (w *world) carryOut(plan *syncPlan) {
	c := &w.control
	for i := range w.n() {
		if plan.deletes[i].gone {
			w.controllerDeletes(i, plan.deletes[i].episode)
		}
		if plan.creates[i] != noRevision && !w.pods[i].exists {
			w.createPod(i, plan.creates[i])
			c.wrotePod = w.tick
		}
	}
}

func (w *world) writeStatus(st *set) {
	s := &w.set
	if st.seenGen > s.seenGen || st.current != s.current || st.update != s.update || st.counted != s.counted ||
		st.ready != s.ready || st.updated != s.updated || st.olden != s.olden {
		s.seenGen = max(s.seenGen, st.seenGen)
		s.current, s.update = st.current, st.update
		s.counted, s.ready, s.updated, s.olden = st.counted, st.ready, st.updated, st.olden
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
