package sim

import (
	"time"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// judgeDecision: who saw the victim lead while the set stood open for it must
// lock at once.
func (w *world) judgeDecision(f *function) {
	e := f.set.episode
	d := f.decision
	if e == nil || !e.ours || !f.truly || w.n() == 1 || d.Reason == roll.ReasonStaleEvent || d.Reason == roll.ReasonNotManaged {
		return
	}
	for i := f.set.partition; i < w.n() && w.management == guard.OrderedReady; i++ {
		if p := &f.pods[i]; !p.exists || p.terminating {
			return // the controller takes no pod while one is away
		}
	}
	locks := d.Write != nil && d.Write.SetPartition && d.Write.Partition >= w.n()
	for i := f.set.partition; i < w.n(); i++ {
		p := &f.pods[i]
		armed := p.exists && !p.terminating && p.revision != f.set.template
		if armed && !locks && f.asked[i] && f.led[i] {
			w.breaks(i2Armed, "%s was seen to lead while released, and the set was not locked (rule %q)", podName(i), d.Rule)
		}
	}
}

// judgeWrite looks at an accepted write of ours.
func (w *world) judgeWrite(f *function, before *set) {
	wr := f.decision.Write
	wasOpen := w.strategy == guard.RollingUpdate && before.open()
	switch {
	case w.isOpen() && wr.SetPartition:
		w.judgeOpening(f, wasOpen)
	case wasOpen && !w.isOpen():
		w.judgeLock(f, before)
	}
	if wr.Status.Phase == roll.PhaseConverged && before.status.ConvergedRevision != wr.Status.ConvergedRevision {
		w.judgeConverged(f)
	}
	if wr.Status.Phase == roll.PhaseHalted && wr.Status.HaltID != before.status.HaltID && (wr.Status.Reason == "" || wr.Status.HaltID == "" || w.isOpen()) {
		w.breaks(i5, "halted without a reason, an id or the lock")
	}
	w.judgeIdle(f, before)
}

func (w *world) judgeOpening(f *function, wasOpen bool) {
	v := w.set.partition
	if wasOpen {
		w.breaks(i3Write, "opened at %d while open already", v)
	}
	released := 0
	for i := v; i < w.n(); i++ {
		if p := &f.pods[i]; p.exists && p.revision != w.set.template {
			released++
		}
	}
	if released != 1 {
		w.breaks(i3Write, "opened at %d for %d outdated pods", v, released)
	}
	w.judgeVictim(f, v)
}

// judgeVictim: when it was asked the victim did not lead, and everybody else
// was well. What changed between asking and now is drift.
func (w *world) judgeVictim(f *function, v int) {
	if w.n() > 1 && (!f.obs.Probed || f.led[v]) {
		w.breaks(i2Write, "%s is given up and led when it was asked, or was not asked", podName(v))
	}
	if w.n() > 1 && w.leader == v {
		w.count("I2 drift: the victim came to lead between our reading and our write")
	}
	for i := range w.n() {
		if w.members[i].corrupt {
			w.count("a corrupt member went unseen: no two members were read at one index")
		}
		switch {
		case i == v:
		case !f.asked[i] || !f.well[i] || !f.pods[i].usable():
			w.breaks(i1Write, "%s is given up although %s was not well", podName(v), podName(i))
		case !w.healthy(i):
			w.count("I1 drift: another member failed between our reading and our write")
		}
	}
}

// judgeLock: nobody locks while the released pod is away, as that brings the
// old revision back, whether the pods showed it or were read before it went
// and its member was asked after; only past the deadline, when under Parallel another pod
// could go, or when there is but one revision to come back on.
func (w *world) judgeLock(f *function, before *set) {
	e := before.episode
	if e == nil || !e.ours || !f.truly {
		return
	}
	p := &f.pods[e.index]
	if p.exists && !p.terminating && !f.going[e.index] || before.seenGen == before.gen && before.current == before.update {
		return
	}
	slack := 2 * time.Second // whole seconds, and the reading before the write
	if w.skewed {
		slack += 2 * time.Second // one clock early at the start, another late now
	}
	if time.Duration(f.nowAt-e.opened)*tickLength >= w.limits.ReadyTimeout-slack {
		return
	}
	for i := before.partition; i < w.n(); i++ {
		if q := &f.pods[i]; (w.management == guard.Parallel || before.maxUnavailable != 1) && q.exists && !q.terminating && q.revision != before.update {
			return
		}
	}
	w.breaks(i3Lock, "locked while %s was away (rule %q)", podName(e.index), f.decision.Rule)
}

// judgeConverged: converged is only ever said of a set that is.
func (w *world) judgeConverged(f *function) {
	s := &w.set
	if w.isOpen() || f.decision.Write.Status.ConvergedRevision != revisionName(s.template) {
		w.breaks(i8, "marked converged on %s: %s", f.decision.Write.Status.ConvergedRevision, w.state())
	}
	read, now := true, true
	for i := range w.n() {
		p := &w.pods[i]
		if p.exists && p.revision != s.template {
			w.breaks(i8, "marked converged although %s is on %s", podName(i), revisionName(p.revision))
		}
		read = read && f.pods[i].usable() && f.pods[i].revision == s.template
		now = now && p.usable()
	}
	switch {
	case !read:
		w.breaks(i8, "marked converged on a reading that is not: %s", w.state())
	case !now:
		w.count("I8 drift: a pod went away between our reading and our write")
	}
}

// judgeIdle: what is converged, marked and handed back is left alone.
func (w *world) judgeIdle(f *function, before *set) {
	target := revisionName(before.template)
	st := &before.status
	if before.seenGen != before.gen || before.current != before.template || before.open() || before.claims || before.record == nil ||
		!before.record.Done || before.maxUnavailable != 1 || st.Phase != roll.PhaseConverged || st.ConvergedRevision != target || st.ConvergedToken != before.release {
		return
	}
	for i := range w.n() {
		if p := &f.pods[i]; !p.exists || p.terminating || p.revision != before.template {
			return
		}
	}
	w.breaks(i10, "wrote to an idle set (rule %q)", f.decision.Rule)
}

// judgeDelete looks at a delete of ours as it lands.
func (w *world) judgeDelete(f *function, i int) {
	w.judgeVictim(f, i)
}
