package sim

import (
	"strconv"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// firstChange is when the template changes for the first time.
const firstChange = 8

// humans are those who apply templates, pause, resume, and the tools that
// write what is in a repository.
func (w *world) humans() {
	if w.tick == firstChange && w.begin != halfRolled && w.begin != greenfield {
		w.applyTemplate(w.newRevision())
	}
	if !w.rough {
		return
	}
	w.applies()
	if w.goes(humanPause) {
		w.set.paused = !w.set.paused
		w.set.rv++
		w.tellIf("a human sets paused to " + strconv.FormatBool(w.set.paused))
	}
	if w.set.status.HaltID != "" && w.chance(0.015) {
		w.resume()
	}
	if w.isOpen() && w.goes(foreignLock) {
		w.foreignPartition(w.n())
	}
	if w.goes(loseRecord) && w.set.record != nil {
		w.tellIf("somebody replaces the set without our annotations")
		w.set.record, w.set.status = nil, roll.Status{}
		w.set.rv++
	}
	if !w.fenced && w.goes(foreignOpen) {
		w.foreignPartition(w.IntN(w.n()))
	}
}

func (w *world) applies() {
	if !w.goes(changeTemplate) {
		return
	}
	if w.chance(0.35) {
		w.applyTemplate(w.IntN(len(w.traits))) // back to one that was there before
		return
	}
	w.applyTemplate(w.newRevision())
}

// newRevision is a template nobody has applied yet; some are bad.
func (w *world) newRevision() int {
	t := good
	if !w.calm && w.chance(0.25) {
		t = [...]trait{crash, noImage, noPlace, sick, tardy}[w.IntN(5)]
	}
	w.traits = append(w.traits, t)
	return len(w.traits) - 1
}

// applyTemplate changes the template. The admission policy refuses that while
// the set is open, unless the same request locks it.
func (w *world) applyTemplate(revision int) {
	s := &w.set
	if revision == s.template {
		return
	}
	if w.isOpen() && w.fenced {
		if w.chance(0.5) {
			w.tellIf("the admission policy refuses a template")
			return
		}
		w.setPartition(s.replicas, false)
	}
	if s.episode != nil {
		s.episode.templated = true
	}
	s.template = revision
	s.release = "r" + strconv.Itoa(len(w.traits)) + "-" + strconv.Itoa(revision)
	s.gen++
	s.rv++
	if w.telling() {
		w.tell("a human applies template %s", revisionName(revision))
	}
}

func (w *world) resume() {
	id := w.set.status.HaltID
	if id == "" {
		return
	}
	w.tellIf("a human resumes halt " + id)
	if w.rough && w.chance(0.4) {
		w.send(roll.Ask{Kind: roll.Resume, HaltID: id}, 1)
		return
	}
	w.set.resume = id
	w.set.rv++
}

func (w *world) foreignPartition(p int) {
	if p == w.set.partition {
		return
	}
	if w.telling() {
		w.tell("somebody else sets partition to %d", p)
	}
	w.setPartition(p, false)
	w.set.rv++
}
