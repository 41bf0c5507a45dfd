package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// screen redraws a block of lines on a terminal; elsewhere it prints a line for
// each thing that has changed.
type screen struct {
	out    io.Writer
	redraw bool
	drawn  int      // lines of the block on the terminal
	seen   []string // what the last frame said, line by line, without numbers that always change
}

func newScreen(plain bool) *screen {
	return &screen{out: os.Stdout, redraw: !plain && term.IsTerminal(int(os.Stdout.Fd()))}
}

// line prints one line below everything.
func (s *screen) line(format string, args ...any) {
	s.rest()
	_, _ = fmt.Fprintf(s.out, format+"\n", args...)
}

// rest leaves the block as it is; what comes next goes below it.
func (s *screen) rest() {
	s.drawn = 0
}

func (s *screen) draw(f frame) {
	if !s.redraw {
		s.changes(f)
		return
	}
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	lines := f.lines()
	for _, l := range lines {
		fmt.Fprintf(&b, "\r\x1b[2K%s\n", l)
	}
	s.drawn = len(lines)
	_, _ = io.WriteString(s.out, b.String())
}

// lines is the block of a frame. It always has the same number of lines.
func (f frame) lines() []string {
	lines := []string{
		"",
		fmt.Sprintf("%s   %5.1f s   %s", f.title, f.after.Seconds(), f.phase),
		"  " + cut(f.why(), 110),
		fmt.Sprintf("  %s; term %d, %d planned moves, %d unplanned elections", f.lock, f.report.LastTerm, f.report.Planned, f.report.Unplanned),
		fmt.Sprintf("  %d writes, %d failed, longest gap %s", f.tally.Acked, f.tally.Failed, f.tally.Longest.Took.Round(time.Millisecond)),
		fmt.Sprintf("  %-8s %-9s %-8s %-8s %-9s %s", "member", "revision", "version", "ready", "role", "behind"),
	}
	for _, m := range f.members {
		lines = append(lines, fmt.Sprintf("  %-8s %-9s %-8s %-8s %-9s %s", m.name, m.revision, m.version, m.ready, m.role, m.behind))
	}
	return lines
}

func (f frame) why() string {
	if f.thought.Reason == "" {
		return ""
	}
	return fmt.Sprintf("step %d, %s: %s", f.report.Steps, f.thought.Reason, f.thought.Why)
}

// changes prints what is new since the last frame.
func (s *screen) changes(f frame) {
	now := []string{
		fmt.Sprintf("%s: %s", f.thought.Reason, withoutNumbers(f.thought.Why)),
		fmt.Sprintf("%s; term %d, %d planned moves, %d unplanned elections", f.lock, f.report.LastTerm, f.report.Planned, f.report.Unplanned),
	}
	say := []string{f.why(), now[1]}
	for _, m := range f.members {
		row := fmt.Sprintf("%s  revision %s (%s), ready %s, %s", m.name, m.revision, m.version, m.ready, m.role)
		now, say = append(now, row), append(say, row)
	}
	for i, line := range now {
		if (i >= len(s.seen) || s.seen[i] != line) && say[i] != "" {
			_, _ = fmt.Fprintf(s.out, "%6.1f s  %s\n", f.after.Seconds(), say[i])
		}
	}
	s.seen = now
}

func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}

func cut(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width-3]) + "..."
	}
	return text
}
