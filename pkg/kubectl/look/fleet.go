package look

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/kubectl/screen"
)

// Fleet shows a line for each set.
func Fleet(sets []Set, style screen.Style, namespaces, wide bool) []string {
	spare := func(n int) int {
		if wide {
			return 0
		}
		return n
	}
	columns := []screen.Column{{Title: "NAMESPACE"}, {Title: "NAME"}, {Title: "PHASE"}, {Title: "UPDATED"}, {Title: "READY", Spare: spare(2)}, {Title: "LOCK", Spare: spare(1)},
		{Title: "REVISION", Spare: spare(4)}, {Title: "AGE", Spare: spare(3)}, {Title: "REASON"}, {Title: "MESSAGE", Spare: spare(5)}}
	t := screen.Table{Columns: columns}
	for _, s := range sets {
		t.Rows = append(t.Rows, s.row(style))
	}
	if !namespaces {
		t.Columns = t.Columns[1:]
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][1:]
		}
	}
	return t.Lines(style)
}

func (s Set) row(style screen.Style) []screen.Cell {
	reason, message := s.Reason, s.Message
	switch {
	case s.Converged && s.Paused:
		reason, message = "Paused", "the next change of the template will wait for a resume"
	case s.Converged:
		reason, message = "", ""
	case s.Step != nil && s.Standing == Standing(roll.PhaseRolling):
		// How far the step has come says more than the words of its last write.
		message = s.Step.String()
	}
	updated := fmt.Sprintf("%s %d/%d", style.Bar(s.Updated, s.Replicas, 6), s.Updated, s.Replicas)
	row := []screen.Cell{{Text: s.Namespace}, {Text: s.Name}, {Text: string(s.Standing), Tone: s.Standing.Tone()}, {Text: updated}, {Text: fmt.Sprintf("%d/%d", s.Ready, s.Replicas)}}
	for _, text := range []string{s.Lock, s.To, duration.HumanDuration(s.age), reason, message} {
		if text == "" {
			text = "-"
		}
		row = append(row, screen.Cell{Text: text})
	}
	return row
}

// Line tells the set in one line that reads well in a log.
func (s Set) Line() string {
	line := fmt.Sprintf("%s/%s %s %d/%d", s.Namespace, s.Name, s.Standing, s.Updated, s.Replicas)
	if s.Lock == "open" {
		line += fmt.Sprintf(" open at %d", s.Partition)
	}
	switch {
	case s.Converged:
		line += " " + s.To
	case s.Reason != "":
		line += " " + s.Reason + ": " + s.Message
	case s.Message != "":
		line += ": " + s.Message
	}
	return line
}
