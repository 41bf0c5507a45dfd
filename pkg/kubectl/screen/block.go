package screen

import (
	"fmt"
	"io"
	"strings"
)

// Block is a group of lines at the end of a terminal that is redrawn in place.
type Block struct {
	Out   io.Writer
	drawn int // lines on the terminal
}

// Draw replaces the lines that were drawn before. It is one write, so that
// nothing flickers; what a line leaves over of an older one is cleared.
func (b *Block) Draw(lines []string) {
	var text strings.Builder
	if b.drawn > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", b.drawn)
	}
	text.WriteString("\r")
	for _, line := range lines {
		text.WriteString(line + "\x1b[K\n")
	}
	text.WriteString("\x1b[J")
	b.drawn = len(lines)
	_, _ = io.WriteString(b.Out, text.String())
}
