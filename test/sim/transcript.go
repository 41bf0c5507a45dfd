package sim

import (
	"fmt"
	"strings"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// tale is the timeline of one walk, one line per event.
type tale struct{ lines []string }

// last gives the end of the timeline.
func (t *tale) last(n int) []string { return t.lines[max(0, len(t.lines)-n):] }

// telling guards every call whose arguments cost something: a walk without a
// listener formats nothing.
func (w *world) telling() bool { return w.tale != nil }

func (w *world) tell(format string, args ...any) {
	at := float64(w.tick) * tickLength.Seconds()
	w.tale.lines = append(w.tale.lines, fmt.Sprintf("%7.2fs  ", at)+fmt.Sprintf(format, args...))
}

func (w *world) tellIf(line string) {
	if w.tale != nil {
		w.tell("%s", line)
	}
}

// tellDecision names the rule of a decision, and what the world looked like
// to it.
func (w *world) tellDecision(f *function) {
	d := f.decision
	w.tell("function %d on %s (read %.2fs, rv %d): [%s] %s", w.number(f), askName(f.ask), float64(f.readAt)*tickLength.Seconds(), f.set.rv, d.Rule, roll.Describe(d))
}

func (w *world) number(f *function) int {
	for i := range w.functions {
		if f == &w.functions[i] {
			return i
		}
	}
	return -1
}

func askName(a roll.Ask) string {
	switch a.Kind {
	case roll.Continue:
		return fmt.Sprintf("continue %d", a.Seq)
	case roll.Resume:
		return "resume " + a.HaltID
	}
	return "look"
}

// state is the world in one line.
func (w *world) state() string {
	var b strings.Builder
	fmt.Fprintf(&b, "set rv%d gen%d/%d partition %d template %s current %s update %s |", w.set.rv, w.set.seenGen, w.set.gen, w.set.partition,
		revisionName(w.set.template), revisionName(w.set.current), revisionName(w.set.update))
	for i := range w.n() {
		p, m := &w.pods[i], &w.members[i]
		mark := " "
		if w.leader == i {
			mark = "*"
		}
		fmt.Fprintf(&b, " %d%s%s", i, mark, podState(p))
		if !m.up() {
			b.WriteString("/off")
		} else if m.lag > 0 {
			fmt.Fprintf(&b, "/lag%d", m.lag)
		}
		if m.down == byUs {
			b.WriteString("/ours")
		}
	}
	return b.String()
}

func podState(p *pod) string {
	switch {
	case !p.exists:
		return "missing"
	case p.terminating:
		return fmt.Sprintf("r%d terminating", p.revision)
	case p.failed:
		return fmt.Sprintf("r%d failed", p.revision)
	case p.ready:
		return fmt.Sprintf("r%d ready", p.revision)
	case p.running:
		return fmt.Sprintf("r%d running", p.revision)
	}
	return fmt.Sprintf("r%d pending", p.revision)
}

// String is the profile in words, at the head of a timeline.
func (p profile) String() string {
	strategy := [...]string{"", "RollingUpdate", "OnDelete"}[p.strategy]
	management := [...]string{"", "OrderedReady", "Parallel"}[p.management]
	begin := [...]string{"converged", "adopted locked", "adopted open", "half rolled", "greenfield"}[p.begin]
	return fmt.Sprintf("%d replicas, %s, %s, begins %s; controller counts unavailable pods %v, admission policy %v, right to delete %v, %d functions, calm %v",
		p.replicas, strategy, management, begin, p.budgeted, p.fenced, p.mayDelete, p.functions, p.calm)
}
