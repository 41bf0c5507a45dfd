package screen

import (
	"cmp"
	"slices"
	"strings"
)

// Cell is one value in a table.
type Cell struct {
	Text string
	Tone Tone
}

// Column is one column. Those of the highest Spare go first when the table is
// too wide; 0 stays.
type Column struct {
	Title string
	Spare int
}

// Table is text in columns.
type Table struct {
	Columns []Column
	Rows    [][]Cell
	Indent  string
	Last    int // how much of the last column has to be seen; 0 is a little
}

const gap = 2

// Lines lays the table out. The last column is cut at the width.
func (t Table) Lines(s Style) []string {
	shown := t.fitting(s.Width)
	widths := t.widths()
	titles := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = Cell{c.Title, Quiet}
	}
	var lines []string
	for _, row := range append([][]Cell{titles}, t.Rows...) {
		lines = append(lines, t.line(s, row, shown, widths))
	}
	return lines
}

func (t Table) line(s Style, row []Cell, shown, widths []int) string {
	var b strings.Builder
	b.WriteString(t.Indent)
	used := len(t.Indent)
	for n, i := range shown {
		if n == len(shown)-1 {
			text := row[i].Text
			if s.Width > 0 {
				text = Cut(text, max(1, s.Width-used))
			}
			b.WriteString(s.Paint(row[i].Tone, text))
			break
		}
		b.WriteString(s.Paint(row[i].Tone, row[i].Text))
		b.WriteString(strings.Repeat(" ", widths[i]-len([]rune(row[i].Text))+gap))
		used += widths[i] + gap
	}
	return strings.TrimRight(b.String(), " ")
}

func (t Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = len([]rune(c.Title))
		for _, row := range t.Rows {
			widths[i] = max(widths[i], len([]rune(row[i].Text)))
		}
	}
	return widths
}

// fitting leaves out columns until the rest fits. The last one may be cut, so
// only its title has to fit.
func (t Table) fitting(width int) []int {
	widths := t.widths()
	var shown []int
	for i := range t.Columns {
		shown = append(shown, i)
	}
	for width > 0 && t.needs(shown, widths) > width {
		worst := slices.MaxFunc(shown, func(a, b int) int { return t.Columns[a].Spare - t.Columns[b].Spare })
		if t.Columns[worst].Spare == 0 {
			break
		}
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == worst })
	}
	return shown
}

func (t Table) needs(shown, widths []int) int {
	sum := len(t.Indent)
	for n, i := range shown {
		if n == len(shown)-1 {
			sum += min(widths[i], max(len(t.Columns[i].Title), cmp.Or(t.Last, lastColumn)))
			break
		}
		sum += widths[i] + gap
	}
	return sum
}

// lastColumn is how much of the last column has to be seen by default.
const lastColumn = 16
