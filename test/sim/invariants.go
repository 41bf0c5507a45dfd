package sim

import "fmt"

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
