package plan

import (
	"fmt"
	"strings"
	"time"
)

// String is the shape in two or three words, as in the tables.
func (s Shape) String() string {
	words := fmt.Sprintf("%d ratchet", s.Members)
	if s.OnDelete {
		words = fmt.Sprintf("%d OnDelete", s.Members)
	}
	if s.TLS {
		words += " TLS"
	}
	return words
}

// String is the plan in one line.
func (r Round) String() string {
	words := fmt.Sprintf("seed %d round %d: %s, leader %d", r.Seed, r.Number, r.Shape, r.Leader)
	for _, f := range r.Faults {
		words += "; " + f.String()
	}
	for _, f := range r.Shared {
		words += "; all: " + f.String()
	}
	return words
}

// String is the fault in a few words, with when it comes.
func (f Fault) String() string {
	words := []string{string(f.Kind)}
	if aimed(f.Kind) {
		words = append(words, whom(f.Whom))
	}
	words = append(words, f.amount()...)
	if f.For > 0 {
		words = append(words, "for "+round(f.For))
	}
	return strings.Join(append(words, f.When.String()), " ")
}

func (f Fault) amount() []string {
	switch f.Kind {
	case KillAt:
		return []string{f.At}
	case MoreFunctions, LoseResponse:
		return []string{fmt.Sprint(f.Count)}
	case Duplicate:
		return []string{fmt.Sprintf("x%d", f.Count)}
	case Lose, Slow:
		return []string{fmt.Sprintf("%g %%", float64(f.Count)/10)}
	case Delay, Reorder:
		return []string{"by " + round(f.Every)}
	case StaleReads:
		return []string{round(f.Every) + " old"}
	case Evict:
		return []string{"within " + round(f.Every)}
	case ResetPartition:
		return []string{"every " + round(f.Every)}
	}
	return nil
}

// String says when, as in "0.3s after released 2".
func (m Moment) String() string {
	anchor := string(m.Anchor)
	if m.Nth > 0 {
		anchor += fmt.Sprintf(" %d", m.Nth)
	}
	return fmt.Sprintf("at %s+%s", anchor, round(m.After))
}

func aimed(k Kind) bool { return ill(k) || k == MoveLeader || k == Evict }

func whom(index int) string {
	if index == Leader {
		return "leader"
	}
	return fmt.Sprint(index)
}

func round(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }
