package plot

import (
	"fmt"
	"io"
	"strings"
)

// Terminal draws the lines of a terminal as they were.
func Terminal(to io.Writer, title string, lines []string) error {
	const char, row, pad = 7.25, 17, 14
	widest := len([]rune(title))
	for _, l := range lines {
		widest = max(widest, len([]rune(l)))
	}
	c := &canvas{}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace, SFMono-Regular, Menlo, monospace" font-size="12" xml:space="preserve">`,
		2*pad+float64(widest)*char, 2*pad+(len(lines)+2)*row)
	c.add(`<style>text{fill:#d0d7de;white-space:pre}.prompt{fill:#7ee787}</style><rect width="100%%" height="100%%" rx="8" fill="#161b22"/>`)
	for i, l := range append([]string{"$ " + title, ""}, lines...) {
		class := ""
		if i == 0 {
			class = "prompt"
		}
		c.text(pad, float64(pad+(i+1)*row-4), class, "start", strings.TrimRight(l, " "))
	}
	c.add("</svg>")
	if _, err := to.Write(c.Bytes()); err != nil {
		return fmt.Errorf("draw a terminal: %w", err)
	}
	return nil
}
