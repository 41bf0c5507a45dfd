package sim

import (
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

func (w *world) write(f *function) {
	d := f.decision
	if w.overtime(f) {
		w.tellIf("too late to write")
		f.phase = idle
		return
	}
	if !w.accept(f, d) {
		w.seen.conflicts++
		w.tellIf("conflict")
		if w.unannounced && d.Effect.Kind != roll.NoEffect {
			f.phase = acting
			return
		}
		w.again(f)
		return
	}
	f.seq, f.written = d.Write.Record.Seq, true
	if w.goes(loseResponse) {
		w.tellIf("the answer to the write is lost")
		f.phase = idle
		return
	}
	switch d.Effect.Kind {
	case roll.DeletePod:
		f.phase = lastQuestion
	case roll.MoveLeader:
		f.phase = acting
	default:
		f.phase = answering
	}
}

// again observes anew after a lost race; nothing of the old reading is kept.
func (w *world) again(f *function) {
	if f.retries >= 2 {
		f.phase = idle
		return
	}
	*f = function{phase: readSet, ask: f.ask, wakeAt: w.tick, retries: f.retries + 1}
}

func (w *world) act(f *function) {
	f.phase = answering
	if w.overtime(f) && !w.untimed {
		w.tellIf("too late to act")
		return
	}
	e := f.decision.Effect
	switch e.Kind {
	case roll.DeletePod:
		w.deleteFor(f, e)
	case roll.MoveLeader:
		w.ledger.moved(w)
		w.move(indexOf(e.From), indexOf(e.To))
	}
}

// deleteFor is the delete of a pod by the function: of this pod and no other.
// Its status may have changed since, but not what was decided upon.
func (w *world) deleteFor(f *function, e roll.Effect) {
	p, seen := &w.pods[e.Index], &f.pods[e.Index]
	if !w.mayDelete {
		w.tellIf("the delete is forbidden")
		return
	}
	if !p.exists || uidName(p.uid) != e.PodUID || p.ready != seen.ready || p.terminating {
		w.tellIf("the delete meets another pod, or a changed one")
		return
	}
	if w.telling() {
		w.tell("function deletes %s (%s)", podName(e.Index), uidName(p.uid))
	}
	w.judgeDelete(f, e.Index)
	w.deletePod(e.Index, byUs)
}

// move asks the leader to hand over. It may fail, or succeed after the caller
// has been told that it failed.
func (w *world) move(from, to int) {
	switch {
	case w.goes(failMove):
		w.tellIf("the leader move fails")
	case w.goes(lateMove):
		w.late = lateTransfer{from, to, w.tick + w.between(1, 6)}
	default:
		if !w.transfer(from, to) {
			w.tellIf("the leader move is refused")
		}
	}
}
