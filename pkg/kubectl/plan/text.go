package plan

import (
	"fmt"
	"strings"

	"github.com/etcdroll/etcdroll/pkg/kubectl/screen"
)

func (p Plan) lines(style screen.Style, wide bool) []string {
	title := fmt.Sprintf("%s  %s  %d of %d updated", style.Paint(screen.Strong, p.Namespace+"/"+p.Name), style.Paint(p.Standing.Tone(), string(p.Standing)), p.Updated, p.Replicas)
	lines := []string{title}
	if p.From != p.To && p.From != "" {
		lines = append(lines, fmt.Sprintf("  revision %s -> %s", p.From, p.To))
	}
	lines = append(lines, style.Wrap("next   ", "       ", p.Next.String())...)
	lines = append(lines, style.Wrap("why    ", "       ", fmt.Sprintf("%s: %s (rule: %s)", p.Next.Reason, p.Next.Message, p.Next.Rule))...)
	if p.Next.Remedy != "" {
		lines = append(lines, style.Wrap("do     ", "       ", p.Next.Remedy)...)
	}
	if c := p.Problem; c != nil && c.Reason != p.Next.Reason {
		lines = append(lines, style.Wrap("but    ", "       ", fmt.Sprintf("%s: %s; no further step can be taken until it is mended. %s", style.Paint(screen.Bad, c.Reason), c.Message, c.Remedy))...)
	}
	lines = append(lines, style.Wrap("after  ", "       ", p.toGo())...)
	lines = append(lines, p.gates(style)...)
	lines = append(lines, p.configuration(style, wide)...)
	for _, n := range p.Notes {
		lines = append(lines, style.Wrap("note   ", "       ", n)...)
	}
	return lines
}

// String tells what would be done.
func (n Next) String() string {
	var deeds []string
	switch {
	case n.Partition != nil:
		deeds = append(deeds, fmt.Sprintf("%s: partition becomes %d", n.Step, *n.Partition))
	case n.Step != "":
		deeds = append(deeds, n.Step)
	}
	if n.Pod != "" && len(deeds) > 0 {
		deeds[0] += " (pod " + n.Pod + ")"
	}
	if n.Call != "" {
		deeds = append(deeds, n.Call)
	}
	if len(deeds) == 0 {
		return strings.ToLower(n.Outcome) + ", nothing is written"
	}
	return strings.Join(deeds, "; then ")
}

func (p Plan) toGo() string {
	if len(p.ToGo) == 0 {
		return "no pod is outdated"
	}
	moves := "unknown, as it is not known who leads"
	if p.Moves != nil {
		moves = fmt.Sprint(*p.Moves)
	}
	return fmt.Sprintf("to replace: %s; leader moves still to come: %s", strings.Join(p.ToGo, ", "), moves)
}

func (p Plan) gates(style screen.Style) []string {
	if len(p.Gates) == 0 {
		if p.Problem != nil {
			return []string{"", "gates: not measured, as no member was asked"}
		}
		return nil
	}
	head := "gates for health alone"
	if p.For != "" {
		head = "gates for taking down " + p.For
	}
	lines := []string{"", head}
	tones := map[string]screen.Tone{"pass": screen.Good, "closed": screen.Bad, "overridden": screen.Warning}
	for _, g := range p.Gates {
		text := g.Measured
		if g.Threshold != "" {
			text += "; wants " + g.Threshold
		}
		if g.Verdict != "pass" {
			text += " (" + g.Kind + ")"
		}
		if g.Note != "" {
			text += "; note: " + g.Note
		}
		lines = append(lines, gateLines(style, tones[g.Verdict], g, text)...)
	}
	return lines
}

const gateColumn = 10 + 1 + 20 + 1

// gateLines lays a gate out in columns that do not depend on the others.
func gateLines(style screen.Style, tone screen.Tone, g Gate, text string) []string {
	plain := screen.Style{Width: style.Width}
	wrapped := plain.Wrap(strings.Repeat(" ", 2+gateColumn), strings.Repeat(" ", 2+gateColumn), text)
	verdict := style.Paint(tone, g.Verdict) + strings.Repeat(" ", 10-len(g.Verdict))
	wrapped[0] = fmt.Sprintf("  %s %-20s %s", verdict, g.Name, strings.TrimLeft(wrapped[0], " "))
	return wrapped
}

// configuration is a table where there is room for it. On a narrow terminal
// what was found comes first, and what nobody has set is summed up.
func (p Plan) configuration(style screen.Style, wide bool) []string {
	if len(p.Configuration) == 0 {
		return nil
	}
	lines := []string{"", "configuration"}
	if style.Width > 0 && style.Width < 110 && !wide {
		return append(lines, p.compact(style)...)
	}
	t := screen.Table{Indent: "  ", Columns: []screen.Column{{Title: "KEY"}, {Title: "VALUE"}, {Title: "FROM"}}}
	if wide || style.Width >= 160 {
		t.Columns = append(t.Columns, screen.Column{Title: "MEANING"})
	}
	for _, s := range p.Configuration {
		value := s.Value
		if value == "" {
			value = "-"
		}
		t.Rows = append(t.Rows, []screen.Cell{{Text: s.Key}, {Text: value}, {Text: s.From, Tone: origin(s)}, {Text: s.About, Tone: screen.Quiet}})
	}
	return append(lines, t.Lines(style)...)
}

func (p Plan) compact(style screen.Style) []string {
	var lines, silent []string
	for _, s := range p.Configuration {
		switch {
		case s.From != "default":
			lines = append(lines, style.Wrap("  ", "    ", fmt.Sprintf("%s = %s, from %s", s.Key, s.Value, s.From))...)
		case s.Value != "":
			silent = append(silent, s.Key+" "+s.Value)
		}
	}
	return append(lines, style.Wrap("  ", "    ", "defaults: "+strings.Join(silent, ", "))...)
}

func origin(s Setting) screen.Tone {
	if s.From == "default" {
		return screen.Quiet
	}
	return screen.Plain
}
