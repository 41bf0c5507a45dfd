package sim

import (
	"time"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// message is an event on its way.
type message struct {
	due int
	ask roll.Ask
}

// channel carries events. It may lose, double, delay and so reorder them.
type channel struct{ queue []message }

// crowded is how many events the channel holds before it drops new ones.
const crowded = 24

// garbles says whether a fault of the channel happens. In some walks the
// channel stays bad when all else is well again.
func (w *world) garbles(f fault) bool {
	switch {
	case w.rough:
		return w.chance(w.rates[f])
	case w.badChannel():
		return w.chance(min(0.3, w.rates[f]))
	}
	return false
}

func (w *world) badChannel() bool { return w.seed%4 == 1 }

// send puts an event on the channel, due after some ticks.
func (w *world) send(ask roll.Ask, after int) {
	if w.garbles(dropEvent) || len(w.channel.queue) >= crowded {
		return
	}
	if w.garbles(delayEvent) {
		after += w.between(1, 40)
	}
	w.channel.queue = append(w.channel.queue, message{w.tick + after, ask})
	if w.garbles(doubleEvent) {
		w.channel.queue = append(w.channel.queue, message{w.tick + after + w.between(0, 20), ask})
	}
}

// deliver hands due events to idle functions; the rest waits.
func (w *world) deliver() {
	kept := w.channel.queue[:0]
	for _, m := range w.channel.queue {
		f := w.idleFunction()
		if m.due > w.tick || f == nil {
			kept = append(kept, m)
			continue
		}
		w.visits++
		w.awake(f, m.ask)
	}
	w.channel.queue = kept
}

func (w *world) idleFunction() *function {
	for i := range w.profile.functions {
		if w.functions[i].phase == idle {
			return &w.functions[i]
		}
	}
	return nil
}

// watcher is the trigger: it asks for a look when something changes, and
// every five seconds while the set is active.
type watcher struct {
	podsSeen  [mostMembers]int // uid and rv folded
	setSeen   int64
	changed   bool
	nextAsk   int
	nextSweep int
}

func (w *world) watch() {
	t := &w.watcher
	t.changed = t.changed || t.setSeen != w.set.rv
	t.setSeen = w.set.rv
	for i := range w.n() {
		mark := w.pods[i].uid<<16 | w.pods[i].rv
		t.changed = t.changed || t.podsSeen[i] != mark
		t.podsSeen[i] = mark
	}
	active := w.active()
	switch {
	case t.changed && (active || w.tick%4 == 0):
		w.send(roll.Ask{}, w.between(0, 2))
	case active && w.tick >= t.nextAsk:
		w.send(roll.Ask{}, w.between(0, 2))
	case w.tick >= t.nextSweep:
		w.send(roll.Ask{}, 0)
	default:
		return
	}
	t.changed = false
	t.nextAsk = w.tick + ticksOf(5*time.Second)
	t.nextSweep = w.tick + ticksOf(20*time.Second)
}

// active says that the set needs attention without anything changing.
func (w *world) active() bool {
	s := &w.set
	if w.isOpen() || s.seenGen != s.gen {
		return true
	}
	switch s.status.Phase {
	case roll.PhaseHalted:
		return s.status.HaltedRevision != revisionName(s.update)
	case roll.PhasePaused:
		return !s.paused
	case roll.PhaseConverged:
		return s.status.ConvergedRevision != revisionName(s.update) || s.status.ConvergedToken != s.release || w.outdated() > 0 || s.claims
	}
	return true
}

func (w *world) outdated() int {
	n := 0
	for i := range w.n() {
		if p := &w.pods[i]; p.exists && p.revision != w.set.template {
			n++
		}
	}
	return n
}
