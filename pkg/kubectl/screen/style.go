// Package screen puts text on a terminal or into a file: colours, bars,
// columns, and a block of lines that is redrawn in place.
package screen

import (
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Style is what an output can show. The zero Style is plain text of unlimited
// width.
type Style struct {
	Width    int  // columns; 0 is unlimited
	Height   int  // lines; 0 is unlimited
	Terminal bool // lines can be redrawn
	Colour   bool
	Unicode  bool
}

// StyleOf finds out what the output can show. NO_COLOR (any value) and
// TERM=dumb switch colours off.
func StyleOf(out io.Writer, getenv func(string) string) Style {
	file, isFile := out.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) || getenv("TERM") == "dumb" {
		return Style{}
	}
	s := Style{Terminal: true, Colour: getenv("NO_COLOR") == "", Width: 80}
	if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		s.Width, s.Height = width, height
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(getenv(name)); value != "" {
			s.Unicode = strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
			break
		}
	}
	return s
}

// Tone is what a word means; colours follow from it.
type Tone uint8

// The tones.
const (
	Plain Tone = iota
	Good
	Busy
	Warning
	Bad
	Quiet
	Strong
)

var colours = map[Tone]string{Good: "32", Busy: "36", Warning: "33", Bad: "31;1", Quiet: "2", Strong: "1"}

// Paint colours the text, where colours are shown.
func (s Style) Paint(t Tone, text string) string {
	if !s.Colour || colours[t] == "" || text == "" {
		return text
	}
	return "\x1b[" + colours[t] + "m" + text + "\x1b[0m"
}

// Bar shows how many of all are done, in that many columns.
func (s Style) Bar(done, all, width int) string {
	full, empty := "#", "."
	if s.Unicode {
		full, empty = "█", "░"
	}
	filled := 0
	if all > 0 {
		filled = max(0, min(width, done*width/all))
	}
	return strings.Repeat(full, filled) + strings.Repeat(empty, width-filled)
}

// Cut shortens the text to the width; 0 does not.
func Cut(text string, width int) string {
	runes := []rune(text)
	switch {
	case width <= 0 || len(runes) <= width:
		return text
	case width <= 3:
		return string(runes[:width])
	}
	return string(runes[:width-3]) + "..."
}

var paint = regexp.MustCompile("\x1b\\[[0-9;]*m")

// seen is how many columns the text takes; colours take none.
func seen(text string) int { return len([]rune(paint.ReplaceAllString(text, ""))) }

// Fit cuts a painted line at the width: a line that the terminal would break
// could not be drawn over. Colours end with it.
func (s Style) Fit(line string) string {
	if s.Width <= 0 || seen(line) <= s.Width {
		return line
	}
	var b strings.Builder
	room := s.Width
	for line != "" && room > 0 {
		if at := paint.FindStringIndex(line); at != nil && at[0] == 0 {
			b.WriteString(line[:at[1]])
			line = line[at[1]:]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		b.WriteRune(r)
		line, room = line[size:], room-1
	}
	if s.Colour {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// Wrap breaks the text into lines of the width, at spaces. The first line
// starts with first, the others with rest.
func (s Style) Wrap(first, rest, text string) []string {
	var lines []string
	line, empty := first, true
	for _, word := range strings.Fields(text) {
		if !empty && s.Width > 0 && seen(line)+1+seen(word) > s.Width {
			lines = append(lines, line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	return append(lines, line)
}
