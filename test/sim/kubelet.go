package sim

import "github.com/etcdroll/etcdroll/pkg/guard"

// createPod makes the object and decides its fate: when it runs, joins and is
// called Ready, which need not be in that order.
func (w *world) createPod(i, revision int) {
	w.nextUID++
	slow := w.slowness
	p := pod{
		exists: true, uid: w.nextUID, rv: 1, revision: revision, created: w.tick, readyChange: w.tick,
		stopAt: never, goneAt: never, runAt: w.tick + w.between(1, 3*slow),
	}
	if w.traits[revision] == tardy {
		p.runAt += w.between(20, 140)
	}
	w.schedule(&p, p.runAt)
	w.pods[i] = p
	w.members[i].process = false
	if w.telling() {
		w.tell("controller creates %s of %s (%s)", podName(i), revisionName(revision), uidName(p.uid))
	}
}

// schedule plans a start of the container at the given tick.
func (w *world) schedule(p *pod, at int) {
	p.joinAt = at + w.between(1, 3*w.slowness)
	p.readyAt = p.joinAt + w.between(0, 4)
	if !w.calm && w.chance(0.3) {
		p.readyAt = at + 1 // Ready says nothing about the member
	}
	if w.traits[p.revision] == sick {
		p.joinAt = never
	}
}

// kubelet moves every pod along its plan.
func (w *world) kubelet() {
	for i := range w.n() {
		p := &w.pods[i]
		if !p.exists {
			continue
		}
		if w.nodeBack[i] > 0 {
			w.lostNode(i, p)
			continue
		}
		before := *p
		switch {
		case p.terminating:
			w.terminate(i, p)
		case p.failed:
		case !p.running:
			w.start(p)
		default:
			w.run(i, p)
		}
		if p.exists && p.shown() != before.shown() {
			p.rv++
		}
	}
}

// shown is the pod without the plan: what a change of makes a new version.
func (p pod) shown() pod {
	p.runAt, p.joinAt, p.readyAt, p.stopAt, p.goneAt = 0, 0, 0, 0, 0
	return p
}

// lostNode is a pod on a node that does not report: after a while the node
// controller calls it not ready, and nothing else happens to it.
func (w *world) lostNode(i int, p *pod) {
	if p.ready && w.tick > w.nodeBack[i]-lostFor+12 {
		p.ready, p.readyChange = false, w.tick
		p.rv++
	}
}

func (w *world) terminate(i int, p *pod) {
	if w.tick >= p.stopAt && w.members[i].process {
		w.stopMember(i)
	}
	if w.tick >= p.stopAt && p.ready && w.chance(0.5) {
		p.ready, p.readyChange = false, w.tick
	}
	if w.tick >= p.goneAt {
		*p = pod{}
		w.members[i].process = false
		if w.telling() {
			w.tell("%s is gone", podName(i))
		}
	}
}

func (w *world) start(p *pod) {
	switch w.traits[p.revision] {
	case noPlace:
		p.trouble = guard.Unschedulable
		return
	case noImage:
		if w.tick >= p.runAt {
			p.trouble = guard.ImageTrouble
		}
		return
	}
	if w.tick < p.runAt {
		return
	}
	p.running, p.started, p.trouble = true, w.tick, guard.NoTrouble
	if p.trouble != guard.NoTrouble || p.joinAt < w.tick {
		w.schedule(p, w.tick)
	}
}

func (w *world) run(i int, p *pod) {
	if w.traits[p.revision] == crash {
		p.ready = false
		w.members[i].process = false
		if w.tick >= p.started+4 {
			p.trouble = guard.CrashLoop
		}
		p.joinAt = w.tick + 2 // if the cause is mended
		p.readyAt = p.joinAt + 1
		return
	}
	p.trouble = guard.NoTrouble
	if w.tick >= p.joinAt && !w.members[i].process {
		w.joinMember(i)
	}
	if w.tick >= p.readyAt && !p.ready {
		p.ready, p.readyChange = true, w.tick
	}
	if w.goes(restartContainer) {
		w.restart(i, p)
	}
}

// restart is a container that exits and is started again in its pod.
func (w *world) restart(i int, p *pod) {
	if w.telling() {
		w.tell("the container of %s restarts", podName(i))
	}
	w.stopMember(i)
	p.ready, p.readyChange, p.started = false, w.tick, w.tick+1
	w.schedule(p, w.tick+1)
}

// deletePod starts graceful deletion; who says why, for the ledger.
func (w *world) deletePod(i int, who cause) {
	p := &w.pods[i]
	if !p.exists || p.terminating {
		return
	}
	w.ledger.blame(w, i, who)
	p.terminating, p.rv = true, p.rv+1
	if !p.running {
		p.stopAt, p.goneAt = w.tick, w.tick+w.between(0, 2)
		if w.traits[p.revision] == noPlace {
			p.goneAt = w.tick // never had a node: gone at once
		}
	} else {
		p.stopAt = w.tick + w.between(1, 4)
		p.goneAt = p.stopAt + w.between(0, 4*w.slowness)
	}
	if p.goneAt == w.tick {
		*p = pod{}
		w.members[i].process = false
	}
}

func podName(i int) string { return "etcd-" + string(rune('0'+i)) }
