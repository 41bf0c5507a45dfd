package sim

import (
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// The invariants are judged from what the model knows to be true. Nothing in
// this file uses the product's decisions, only what they made happen.

// The invariants, and the moments at which some of them are judged besides
// every tick.
const (
	i1      = "I1"
	i1Write = "I1 at the write"
	i2Write = "I2 at the write"
	i2Armed = "I2 while armed"
	i3      = "I3"
	i3Write = "I3 at the write"
	i3Lock  = "I3 ratchet" // nobody locks while the released pod is away
	i5      = "I5"
	i8      = "I8"
	i9      = "I9"
	i10     = "I10"
)

// unfencedTemplate is the one exception to I3: without the admission policy
// somebody changed the template while the set was open.
const unfencedTemplate = "I3 exception: template changed while open, without the fence"

// violation is a broken invariant.
type violation struct {
	invariant string
	text      string
	tick      int
}

// ledger is what the invariants remember.
type ledger struct {
	broken    *violation
	announced int // leader moves announced by an accepted write
	calls     int // leader moves asked for
	writes    int

	firstLeader int
	firstTerm   uint64
}

func (w *world) breaks(invariant, format string, args ...any) {
	if w.ledger.broken != nil || w.skip[invariant] {
		return
	}
	w.ledger.broken = &violation{invariant, fmt.Sprintf(format, args...), w.tick}
	if w.telling() {
		w.tell("BROKEN %s: %s", invariant, w.ledger.broken.text)
	}
}

func (w *world) count(what string) { w.seen.counts[what]++ }

// blame says why a member goes down, if it was not down before.
func (l *ledger) blame(w *world, i int, who cause) {
	if w.members[i].down == notDown {
		w.members[i].down = who
	}
}

// blamed is whose account a deletion by the controller goes to: ours if our
// write opened the set, unless somebody changed the template since.
func blamed(e *episode) cause {
	if e != nil && e.ours && !e.templated {
		return byUs
	}
	return byOthers
}

// taken is called when the controller replaces pod i for an update.
func (l *ledger) taken(w *world, i int, e *episode) {
	if e == nil || !e.ours {
		return
	}
	e.taken = append(e.taken, i)
	if len(e.taken) > 1 {
		switch {
		case e.templated && !w.fenced:
			w.count(unfencedTemplate)
		default:
			w.breaks(i3, "pods %v were replaced in one episode opened for %d", e.taken, e.index)
		}
	}
	if w.leader == i && w.n() > 1 {
		w.count("I2 drift: the victim came to lead after our write")
	}
}

func (l *ledger) created(*world, int) {}

func (l *ledger) moved(w *world) {
	l.calls++
	if l.calls > l.announced {
		w.breaks(i9, "%d leader moves were called and %d announced", l.calls, l.announced)
	}
}

// inspect runs after every tick.
func (w *world) inspect() {
	ours := 0
	for i := range w.n() {
		m := &w.members[i]
		switch {
		case w.healthy(i):
			m.down = notDown
		case m.down == notDown:
			m.down = byOthers
		case m.down == byUs:
			ours++
		}
	}
	if ours > 1 {
		w.breaks(i1, "%d members are down because of us: %s", ours, w.state())
	}
}

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
// old revision back; only past the deadline, or when under Parallel another
// pod could go.
func (w *world) judgeLock(f *function, before *set) {
	e := before.episode
	if e == nil || !e.ours || !f.truly {
		return
	}
	p := &f.pods[e.index]
	if p.exists && !p.terminating {
		return
	}
	slack := 2 * time.Second // whole seconds, and the reading before the write
	if w.skewed {
		slack += 4 * time.Second // one clock early at the start, another late now
	}
	if time.Duration(f.readAt-e.opened)*tickLength >= w.limits.ReadyTimeout-slack {
		return
	}
	for i := before.partition; i < w.n(); i++ {
		if q := &f.pods[i]; w.management == guard.Parallel && q.exists && !q.terminating && q.revision != before.update {
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
