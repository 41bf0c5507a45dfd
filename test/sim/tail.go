package sim

import (
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// The bounds of a tail, linear in replicas: I5 in figures. Ticks are those of
// the simulated limits, and twice as many if the channel stays bad.
func tailTicks(n int) int  { return 300 + 100*n }
func tailWrites(n int) int { return 12 + 6*n }

func (w *world) patience() int {
	if w.badChannel() {
		return 2 * tailTicks(w.n())
	}
	return tailTicks(w.n())
}

// tail is the time after the last fault. The set converges and locks, or
// halts with a reason, or is blocked by something time does not heal. In the
// latter two a human follows the remedy, and then it has to converge.
func (w *world) tail() string {
	w.calmDown()
	end := w.toRest("with faults over")
	for round := 1; w.ledger.broken == nil && !w.converged(); round++ {
		if round > 4+w.n() {
			w.breaks(i5, "not converged after %d remedies (was %s): %s", round-1, end, w.state())
			break
		}
		w.remedy(round)
		w.toRest("after the remedy")
	}
	if w.ledger.broken == nil {
		w.judgeCalm()
		w.rest()
	}
	if w.ledger.broken == nil {
		w.remove()
	}
	if w.ledger.broken != nil {
		return "broken"
	}
	return end
}

// toRest lets the set come to rest within the bounds and names how it rests.
func (w *world) toRest(when string) string {
	n := w.n()
	from, wrote, visited := w.tick, w.ledger.writes, w.visits
	moved, looks, before, visits := w.tick, 0, w.restless(), 0
	quiet := ticksOf(w.limits.ReadyTimeout+w.limits.HealthTimeout) + 8
	ok := w.pass(w.patience(), func() bool {
		if now := w.restless(); now != before {
			before, moved, visits = now, w.tick, w.visits-visited
		}
		if w.tick-moved <= quiet {
			looks = w.looks()
		}
		// On a bad channel silence proves nothing: it takes looks that change nothing.
		halted := w.halted() && w.tick-moved > 8 && (!w.badChannel() || w.looks() > looks)
		return w.converged() || halted || w.looks() > looks+1
	})
	if w.ledger.broken != nil {
		return "broken"
	}
	if !w.badChannel() {
		w.seen.mostTicks[n] = max(w.seen.mostTicks[n], w.tick-from)
	}
	w.seen.mostWrites[n] = max(w.seen.mostWrites[n], w.ledger.writes-wrote)
	w.judgeVisits(visits, when)
	if w.ledger.writes-wrote > tailWrites(n) {
		w.breaks(i5, "%d writes %s, %d replicas", w.ledger.writes-wrote, when, n)
	}
	return w.rests(ok, when)
}

func (w *world) rests(ok bool, when string) string {
	s := &w.set.status
	switch {
	case w.ledger.broken != nil:
	case !ok:
		w.breaks(i5, "no rest within %d ticks %s: %s", w.patience(), when, w.state())
	case w.converged():
		return "converged"
	case w.halted() && !w.calm:
		return "halted: " + string(s.Reason)
	case s.Phase == roll.PhaseBlocked && (w.ailing() || s.Reason == roll.ReasonDeleteNeeded) && !w.isOpen():
		return "blocked: " + string(s.Reason)
	default:
		w.breaks(i5, "stands still %s as %s (%s): %s", when, s.Phase, s.Reason, w.state())
	}
	return "broken"
}

// looks is how many decisions were made that did not end at a stale event.
func (w *world) looks() int { return w.seen.runs - w.seen.reasons[string(roll.ReasonStaleEvent)] }

// restless folds what must stop changing before the set is at rest.
func (w *world) restless() [2 + mostMembers]int64 {
	var f [2 + mostMembers]int64
	f[0], f[1] = w.set.rv, int64(w.leader)
	for i := range w.n() {
		f[2+i] = int64(w.pods[i].uid)<<20 | int64(w.pods[i].rv)
	}
	return f
}

func (w *world) converged() bool {
	s := &w.set
	if w.isOpen() || s.status.Phase != roll.PhaseConverged || s.status.ConvergedRevision != revisionName(s.template) ||
		s.status.ConvergedToken != s.release || s.claims || s.seenGen != s.gen {
		return false
	}
	for i := range w.n() {
		if !w.healthy(i) || w.pods[i].revision != s.template {
			return false
		}
	}
	return true
}

func (w *world) halted() bool {
	s := &w.set
	return s.status.Phase == roll.PhaseHalted && s.status.HaltedRevision == revisionName(s.template) && s.status.Reason != "" && !w.isOpen()
}

// ailing says that something is wrong with a pod that time does not heal.
func (w *world) ailing() bool {
	for i := range w.n() {
		if p := &w.pods[i]; p.exists && w.traits[p.revision] != good && !w.healthy(i) {
			return true
		}
	}
	return false
}

// calmDown ends all faults.
func (w *world) calmDown() {
	w.tellIf("---- no more faults ----")
	w.rough = false
	w.control.stoppedUntil = 0
	for i := range w.functions {
		w.functions[i].wakeAt = min(w.functions[i].wakeAt, w.tick+4)
	}
	if w.set.paused {
		w.set.paused = false
		w.set.rv++
	}
}

// rest watches a converged set for a while: nothing may be written, whoever
// asks.
func (w *world) rest() {
	before := w.ledger.writes
	w.send(roll.Ask{}, 2)
	w.send(roll.Ask{Kind: roll.Continue, Seq: w.ours().Seq}, 3)
	w.pass(12, func() bool { return false })
	if w.ledger.broken == nil && (w.ledger.writes != before || !w.converged()) {
		w.breaks(i10, "%d writes to a converged set", w.ledger.writes-before)
	}
}

// remove deletes the set at last: it is nobody's business then.
func (w *world) remove() {
	before := w.ledger.writes
	w.set.deleting = true
	w.set.rv++
	w.set.gen++
	w.send(roll.Ask{}, 1)
	w.pass(4, func() bool { return false })
	if w.ledger.writes != before {
		w.breaks(i10, "wrote to a set that is being deleted")
	}
}

// judgeCalm: where nothing went wrong, no election was unplanned, and the
// leader moved once, or twice if it was on the highest index.
func (w *world) judgeCalm() {
	if !w.calm || w.begin == greenfield || w.begin == halfRolled || w.n() == 1 {
		return
	}
	most := 1
	if w.ledger.firstLeader == w.n()-1 && w.strategy == guard.RollingUpdate {
		most = 2
	}
	last := w.ours().Last
	elections := int(w.term-w.ledger.firstTerm) - w.ledger.calls
	switch {
	case w.ledger.calls > most:
		w.breaks(i9, "%d leader moves where %d do", w.ledger.calls, most)
	case elections != 0 || last == nil || last.Unplanned != 0 || last.Moves != w.ledger.calls:
		w.breaks(i9, "%d elections nobody planned; the receipt is %+v, the moves %d", elections, last, w.ledger.calls)
	}
}
