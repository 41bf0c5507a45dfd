package look

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/kubectl/screen"
)

// Lines shows one set in full. On a wide output, or when wide is asked for, it
// names versions, nodes and revisions as well.
func (s Set) Lines(style screen.Style, wide bool) []string {
	lines := []string{s.title(style)}
	lines = append(lines, s.about()...)
	// How far the step has come says more than the words of its last write.
	stepping := s.Step != nil && s.Standing == Standing(roll.PhaseRolling)
	if s.Message != "" && s.Standing != Standing(roll.PhaseConverged) && !stepping {
		lines = append(lines, style.Wrap("  ", "    ", s.why(style))...)
	}
	if s.Step != nil {
		lines = append(lines, style.Wrap("  ", "    ", "step: "+s.Step.String())...)
	}
	lines = append(lines, s.remedies(style)...)
	lines = append(lines, s.table(wide).Lines(style)...)
	lines = append(lines, s.gates(style)...)
	for _, n := range s.Notes {
		lines = append(lines, style.Wrap("  ", "  ", style.Paint(screen.Quiet, "note: "+n))...)
	}
	for i, l := range lines {
		lines[i] = style.Fit(l)
	}
	return lines
}

func (s Set) title(style screen.Style) string {
	width := 12
	switch {
	case style.Width == 0 || style.Width >= 120:
		width = 30
	case style.Width >= 80:
		width = 20
	}
	title := fmt.Sprintf("%s  %s  %s %d/%d", style.Paint(screen.Strong, s.Namespace+"/"+s.Name), s.phase(style), style.Bar(s.Updated, s.Replicas, width), s.Updated, s.Replicas)
	if s.Started != nil {
		title += "  " + clock(s.Seconds)
	}
	return title
}

// Tone colours a standing.
func (s Standing) Tone() screen.Tone {
	switch string(s) {
	case string(roll.PhaseConverged):
		return screen.Good
	case string(roll.PhaseRolling), string(Pending):
		return screen.Busy
	case string(roll.PhaseHalted):
		return screen.Bad
	case string(roll.PhaseBlocked), string(roll.PhasePaused), string(Unmarked):
		return screen.Warning
	}
	return screen.Quiet
}

func (s Set) phase(style screen.Style) string {
	return style.Paint(s.Standing.Tone(), string(s.Standing))
}

// about is what revision, which lock, and how leadership has fared.
func (s Set) about() []string {
	revision := "revision " + s.To
	if s.From != s.To && s.From != "" {
		revision = fmt.Sprintf("revision %s -> %s", s.From, s.To)
	}
	lock := "OnDelete, no lock"
	if s.Lock != "none" {
		lock = fmt.Sprintf("%s at %d of %d", s.Lock, s.Partition, s.Replicas)
	}
	moves := fmt.Sprintf("leader moves: %d made", s.Moves)
	if s.MovesToCome != nil {
		moves += fmt.Sprintf(", %d to come", *s.MovesToCome)
	}
	return []string{"  " + revision, fmt.Sprintf("  %s; %s; unplanned elections: %d", lock, moves, s.Unplanned)}
}

func (s Set) why(style screen.Style) string {
	if s.Reason == "" {
		return s.Message
	}
	if len(s.Gates) > 0 && s.Gates[0].Measured != "" && s.Standing == Standing(roll.PhaseBlocked) {
		return style.Paint(s.Standing.Tone(), s.Reason) + ": the gates below object"
	}
	return style.Paint(s.Standing.Tone(), s.Reason) + ": " + s.Message
}

// String tells the step in one line.
func (s Step) String() string {
	left := ""
	if s.Left >= 1 {
		left = " (at most " + clock(s.Left) + " more)"
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s: %s%s", s.Kind, s.Pod, s.State, left)), " ")
}

func (s Set) remedies(style screen.Style) []string {
	var lines []string
	if s.Remedy != "" {
		lines = style.Wrap("  ", "    ", "do: "+s.Remedy)
	}
	if s.HaltID != "" {
		lines = append(lines, "  halt "+s.HaltID)
		lines = append(lines, style.Wrap("  ", "    ", GoOn(roll.Reason(s.Reason), s.Namespace, s.Name))...)
	}
	return lines
}

// GoOn is what to type after a halt, and whether that is the right thing to do.
func GoOn(reason roll.Reason, namespace, name string) string {
	command := fmt.Sprintf("kubectl etcdroll resume %s -n %s", name, namespace)
	if reason.TriesAgain() {
		return "to try this very template again: " + command
	}
	return "once mended: " + command
}

func (s Set) table(wide bool) screen.Table {
	spare := func(n int) int {
		if wide {
			return 0
		}
		return n
	}
	t := screen.Table{Indent: "  ", Columns: []screen.Column{{Title: "MEMBER"}, {Title: "REVISION"}, {Title: "READY"}, {Title: "ROLE"},
		{Title: "LAG"}, {Title: "AGE"}, {Title: "VERSION", Spare: spare(1)}, {Title: "MEMBER ID", Spare: spare(4)}, {Title: "NODE", Spare: spare(2)},
		{Title: "REVISION NAME", Spare: spare(3)}, {Title: "", Spare: 0}}}
	detail := false
	for _, m := range s.Members {
		t.Rows = append(t.Rows, m.row())
		detail = detail || m.Detail != ""
	}
	if !detail {
		t.Columns = t.Columns[:len(t.Columns)-1]
	} else {
		t.Last = 36
	}
	return t
}

func (m Member) row() []screen.Cell {
	tone := map[string]screen.Tone{"new": screen.Good, "yes": screen.Good, "no": screen.Warning, "ending": screen.Warning, "missing": screen.Warning,
		"leader": screen.Strong, "silent": screen.Warning, "learner": screen.Warning}
	lag, age := "-", "-"
	if m.Lag != nil {
		lag = fmt.Sprint(*m.Lag)
	}
	if m.Age != nil {
		age = duration.HumanDuration(time.Duration(*m.Age * float64(time.Second)))
	}
	row := []screen.Cell{{Text: m.Pod}, {Text: m.Revision, Tone: tone[m.Revision]}, {Text: m.Ready, Tone: tone[m.Ready]}, {Text: m.Role, Tone: tone[m.Role]},
		{Text: lag}, {Text: age}}
	for _, text := range []string{m.Version, m.ID, m.Node, m.Hash, m.Detail} {
		if text == "" {
			text = "-"
		}
		row = append(row, screen.Cell{Text: text, Tone: screen.Quiet})
	}
	return row
}

func (s Set) gates(style screen.Style) []string {
	switch {
	case len(s.Gates) == 0 && s.Standing == Standing(roll.PhaseHalted) && s.MovesToCome != nil:
		return []string{"  no gate objects at present"}
	case len(s.Gates) == 0:
		return nil
	case s.Standing == Standing(roll.PhaseHalted):
		return style.Wrap("  ", "  ", fmt.Sprintf("%d gates object at present: kubectl etcdroll plan %s -n %s", len(s.Gates), s.Name, s.Namespace))
	}
	lines := []string{"  blocked by"}
	for _, g := range s.Gates {
		lines = append(lines, g.Lines(style)...)
	}
	return lines
}

// Lines shows a gate with what was measured and what it wants.
func (g Gate) Lines(style screen.Style) []string {
	text := g.Name
	if g.Measured != "" {
		text = fmt.Sprintf("%s: %s; wants %s", g.Name, g.Measured, g.Threshold)
	}
	return style.Wrap("    ", "      ", text)
}

// clock shows seconds as a person reads them.
func clock(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
