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
		f.phase = idle
		if f.retries++; f.retries <= 2 {
			f.phase, f.obs = readSet, roll.Observed{}
		}
		return
	}
	f.seq = d.Write.Record.Seq
	if w.goes(loseResponse) {
		w.tellIf("the answer to the write is lost")
		f.phase = idle
		return
	}
	f.phase = answering
	if d.Effect.Kind != roll.NoEffect {
		f.phase = acting
	}
}

func (w *world) act(f *function) {
	f.phase = answering
	if w.overtime(f) {
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

// deleteFor is the delete of a pod by the function: of this pod, as it was
// observed, and of no other.
func (w *world) deleteFor(f *function, e roll.Effect) {
	p := &w.pods[e.Index]
	if !w.mayDelete {
		w.tellIf("the delete is forbidden")
		return
	}
	if !p.exists || uidName(p.uid) != e.PodUID || p.rv != f.pods[e.Index].rv || p.terminating {
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
