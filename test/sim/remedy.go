package sim

import (
	"strings"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// remedy is what a human does about a set that stands still: in one half of
// the walks the cause goes away by itself, in the other the remedy of the
// reason is followed. A current revision that is bad itself leaves only the
// former, since a pod deleted while the set is locked returns on it.
func (w *world) remedy(round int) {
	reason := w.set.status.Reason
	if w.telling() {
		w.tell("---- remedy %d for %s ----", round, reason)
	}
	if reason == roll.ReasonDeleteNeeded {
		w.runCommand()
	}
	if w.seed%2 == 0 || w.set.current >= 0 && w.traits[w.set.current] != good {
		w.heal()
		w.pass(ticksOf(w.limits.HealthTimeout), func() bool { return false })
		w.resume()
		return
	}
	if w.traits[w.set.template] != good {
		w.applyTemplate(w.goodRevision()) // clears the halt, and no more is needed in most cases
		return
	}
	w.deleteUnwell()
	w.pass(ticksOf(w.limits.HealthTimeout), func() bool { return false })
	w.resume()
}

// goodRevision is a template that works: forward to a new one, or back.
func (w *world) goodRevision() int {
	if w.chance(0.5) {
		for r := range w.traits {
			if w.traits[r] == good && r != w.set.template {
				return r
			}
		}
	}
	w.traits = append(w.traits, good)
	return len(w.traits) - 1
}

// heal has every cause go away: the image is there, the node fits, the flag
// is understood.
func (w *world) heal() {
	for r := range w.traits {
		w.traits[r] = good
	}
	for i := range w.n() {
		if p := &w.pods[i]; p.joinAt == never {
			p.joinAt = w.tick + 2
		}
	}
}

// runCommand deletes the pod that the message says to delete.
func (w *world) runCommand() {
	for i := range w.n() {
		if strings.Contains(w.set.status.Message, "delete pod "+podName(i)) {
			w.tellIf("a human runs the command: delete " + podName(i))
			w.deletePod(i, byOthers)
		}
	}
}

// deleteUnwell is a human deleting whatever is not well.
func (w *world) deleteUnwell() {
	for i := range w.n() {
		if p := &w.pods[i]; p.exists && !w.healthy(i) {
			w.tellIf("a human deletes " + podName(i))
			w.deletePod(i, byOthers)
		}
	}
}
