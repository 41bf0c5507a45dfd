package history

import (
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/pkg/kubectl/screen"
)

func (h History) lines(style screen.Style) []string {
	lines := []string{style.Paint(screen.Strong, h.Namespace+"/"+h.Name)}
	if c := h.Current; c != nil {
		lines = append(lines,
			"  under way: to "+c.Target,
			fmt.Sprintf("    since %s; steps: %d, leader moves: %d, unplanned elections: %d", stamp(c.Started), c.Steps, c.Moves, c.Unplanned))
		for _, s := range c.Abandoned {
			lines = append(lines, fmt.Sprintf("    template %s seen at %s", s.Target, stamp(s.At)))
		}
	}
	lines = append(lines, h.receipt(style)...)
	lines = append(lines, h.recent(style)...)
	for _, n := range h.Notes {
		lines = append(lines, style.Wrap("  note: ", "    ", n)...)
	}
	return lines
}

func (h History) receipt(style screen.Style) []string {
	r := h.Last
	if r == nil {
		return []string{"  no roll has been completed yet"}
	}
	lines := []string{
		"  last roll: to " + r.Target,
		fmt.Sprintf("    from %s to %s, %s", stamp(r.Started), stamp(r.Finished), took(r.Started, r.Finished)),
		fmt.Sprintf("    steps: %d, leader moves: %d, unplanned elections: %d (term %d to %d), worst lag: %d", r.Steps, r.Moves, r.Unplanned, r.FirstTerm, r.LastTerm, r.WorstLag),
	}
	for _, text := range h.podTimes(r) {
		lines = append(lines, "    "+text)
	}
	for _, o := range r.Overrides {
		lines = append(lines, style.Wrap("    overridden: ", "      ", o)...)
	}
	return lines
}

func (h History) recent(style screen.Style) []string {
	if len(h.Recent) == 0 {
		return nil
	}
	lines := []string{"  lately"}
	for _, e := range h.Recent {
		tone := screen.Plain
		if e.Type == "Warning" {
			tone = screen.Warning
		}
		first := fmt.Sprintf("    %s %s: ", e.At.UTC().Format("15:04:05"), style.Paint(tone, e.Reason))
		lines = append(lines, style.Wrap(first, "      ", e.Note)...)
	}
	return lines
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
