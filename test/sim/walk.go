package sim

import (
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// result is how a walk ended.
type result struct {
	seed   uint64
	end    string
	broken *violation
	seen   *coverage
	tale   *tale
	about  string
}

// walk runs one seed: first with faults, then without, until the set has
// converged or stands still with a reason; in the latter case the cause is
// mended and it has to converge after all.
func walk(seed uint64, what decide, tell bool) result {
	w := newWorld(seed, what)
	if tell {
		w.tale = &tale{}
	}
	w.rough = !w.calm
	w.pass(w.profile.rough, func() bool { return false })
	end := "broken"
	if w.ledger.broken == nil {
		end = w.tail()
	}
	w.seen.walks, w.seen.ticks, w.seen.writes = 1, w.tick, w.ledger.writes
	w.seen.ends[end]++
	return result{seed: seed, end: end, broken: w.ledger.broken, seen: w.seen, tale: w.tale, about: w.profile.String()}
}

// pass lets ticks go by until the condition holds or an invariant breaks. It
// reports whether the condition came to hold.
func (w *world) pass(ticks int, until func() bool) bool {
	last := ""
	for range ticks {
		w.step()
		if w.telling() {
			if now := w.state(); now != last {
				last = now
				w.tell("    %s", now)
			}
		}
		if w.ledger.broken != nil {
			return false
		}
		if until() {
			return true
		}
	}
	return false
}

// The bounds of a tail, linear in replicas.
func tailTicks(n int) int  { return 400 + 300*n }
func tailWrites(n int) int { return 20 + 12*n }

// tail is the time after the last fault.
func (w *world) tail() string {
	w.calmDown()
	end := w.toRest("with faults over")
	if w.ledger.broken != nil {
		return "broken"
	}
	if end != "converged" {
		w.mend()
		after := w.toRest("after the cause was mended")
		if w.ledger.broken == nil && after != "converged" {
			w.breaks("I5", "%s although the cause was mended (was %s): %s", after, end, w.state())
		}
	}
	if w.ledger.broken == nil {
		w.rest()
	}
	if w.ledger.broken != nil {
		return "broken"
	}
	return end
}

// toRest lets the set come to rest within the bounds.
func (w *world) toRest(when string) string {
	from, wrote, moved := w.tick, w.ledger.writes, w.tick
	before := w.restless()
	ok := w.pass(tailTicks(w.n()), func() bool {
		if now := w.restless(); now != before {
			before, moved = now, w.tick
		}
		return w.converged() || w.halted() && w.tick-moved > 8 || w.tick-moved > ticksOf(w.limits.ReadyTimeout+w.limits.HealthTimeout)+8
	})
	if w.ledger.broken != nil {
		return "broken"
	}
	n := w.n()
	w.seen.mostTicks[n] = max(w.seen.mostTicks[n], w.tick-from)
	w.seen.mostWrites[n] = max(w.seen.mostWrites[n], w.ledger.writes-wrote)
	if w.ledger.writes-wrote > tailWrites(n) {
		w.breaks("I5", "%d writes %s, %d replicas", w.ledger.writes-wrote, when, n)
	}
	switch {
	case !ok:
		w.breaks("I5", "no rest within %d ticks %s: %s", tailTicks(n), when, w.state())
	case w.converged():
		return "converged"
	case w.halted() && !w.calm:
		return "halted: " + string(w.set.status.Reason)
	case w.set.status.Phase == roll.PhaseBlocked && w.ailing() && !w.isOpen():
		return "blocked: " + string(w.set.status.Reason)
	default:
		w.breaks("I5", "stands still %s as %s (%s): %s", when, w.set.status.Phase, w.set.status.Reason, w.state())
	}
	return "broken"
}

// restless folds what must stop changing before the set is at rest.
func (w *world) restless() [2 + mostMembers]int64 {
	var f [2 + mostMembers]int64
	f[0], f[1] = w.set.rv, int64(w.leader)
	for i := range w.n() {
		f[2+i] = int64(w.pods[i].uid)<<8 | int64(w.pods[i].rv)
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

// mend does what the reason's remedy says, or has the cause go away.
func (w *world) mend() {
	w.tellIf("---- the cause is mended ----")
	for r := range w.traits {
		w.traits[r] = good
	}
	for i := range w.n() {
		if p := &w.pods[i]; p.joinAt == never {
			p.joinAt = w.tick + 2
		}
	}
	if w.set.status.Reason == roll.ReasonDeleteNeeded {
		w.deleteBroken()
	}
	w.pass(ticksOf(w.limits.HealthTimeout), func() bool { return false })
	w.resume()
}

// deleteBroken is the human running the command in the message.
func (w *world) deleteBroken() {
	for i := range w.n() {
		if p := &w.pods[i]; p.exists && !p.ready && p.revision != w.set.template {
			w.tellIf("a human deletes " + podName(i))
			w.deletePod(i, byOthers)
		}
	}
}

// rest watches a converged set for a while: nothing may be written.
func (w *world) rest() {
	before := w.ledger.writes
	w.send(roll.Ask{}, 2)
	w.pass(40, func() bool { return false })
	if w.ledger.broken == nil && (w.ledger.writes != before || !w.converged()) {
		w.breaks("I10", "%d writes to a converged set", w.ledger.writes-before)
	}
}
