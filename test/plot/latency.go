// Package plot draws what writers met during rolls, as SVG that reads on light
// and dark pages alike.
package plot

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"time"
)

// Sample is one write. Took is until it was acknowledged, or given up.
type Sample struct {
	At     time.Time
	Took   time.Duration
	Failed bool
}

// Span is a time with something to say about it.
type Span struct {
	From, To time.Time
	Label    string
}

// Moment is a point in time with something to say about it.
type Moment struct {
	At  time.Time
	Bad bool
}

// Panel is one roll.
type Panel struct {
	Title   string // what rolled, and what it came to
	From    time.Time
	To      time.Time
	Samples []Sample
	Every   time.Duration // samples stand for so long each; 0 for a moment
	Gap     Span          // the longest time without an acknowledged write
	Away    []Span        // pods on their way
	Moves   []Moment      // changes of leader; bad ones had not been announced
}

const (
	width, left, right = 900, 56, 12
	panelHeight, head  = 190, 44
	foot               = 30 // of a panel: room for the axis
	columns            = width - left - right
	fastest            = 200 * time.Microsecond
	slowest            = 10 * time.Second
)

// Latency writes one picture of all panels, one below the other, on one scale.
func Latency(to io.Writer, panels []Panel) error {
	var length time.Duration
	for _, p := range panels {
		length = max(length, p.To.Sub(p.From))
	}
	if length <= 0 {
		return fmt.Errorf("plot: %d panels of no length", len(panels))
	}
	c := &canvas{length: length}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-sans-serif, system-ui, sans-serif" font-size="11">`, width, len(panels)*(panelHeight+head)+22)
	c.add(style)
	for i, p := range panels {
		c.top = i*(panelHeight+head) + head
		c.panel(p)
	}
	c.legend(len(panels) * (panelHeight + head))
	c.add("</svg>\n")
	_, err := to.Write(c.Bytes())
	return err
}

const style = `<style>
text{fill:#57606a}.title{font-size:13px;font-weight:600}.grid{stroke:#8b949e;stroke-opacity:.25}.write{stroke:#1f77b4}.failed{fill:#d62728}
.away{fill:#8b949e;fill-opacity:.18}.gap{fill:#d62728;fill-opacity:.22}.planned{stroke:#2ca02c;stroke-width:2}.unplanned{stroke:#d62728;stroke-width:2;stroke-dasharray:4 3}
@media (prefers-color-scheme: dark){text{fill:#9aa4af}.write{stroke:#58a6ff}}
</style>`

type canvas struct {
	bytes.Buffer
	length time.Duration
	top    int
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func (c *canvas) text(x, y float64, class, anchor, text string) {
	var safe bytes.Buffer
	_ = xml.EscapeText(&safe, []byte(text)) // a buffer takes everything
	c.add(`<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, class, x, y, anchor, safe.String())
}

func (c *canvas) x(since time.Duration) float64 {
	return left + columns*math.Min(1, math.Max(0, float64(since)/float64(c.length)))
}

// y is logarithmic: a write takes a millisecond or, in an election, seconds.
func (c *canvas) y(took time.Duration) float64 {
	took = min(max(took, fastest), slowest)
	share := math.Log(float64(took)/float64(fastest)) / math.Log(float64(slowest)/float64(fastest))
	return float64(c.top) + float64(panelHeight-foot)*(1-share)
}

func (c *canvas) panel(p Panel) {
	bottom := float64(c.top + panelHeight - foot)
	c.text(left, float64(c.top)-12, "title", "start", p.Title)
	for _, mark := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second} {
		c.add(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, left, width-right, c.y(mark), c.y(mark))
		c.text(left-6, c.y(mark)+4, "", "end", mark.String())
	}
	step := tickOf(c.length)
	for at := time.Duration(0); at <= c.length; at += step {
		c.text(c.x(at), bottom+14, "", "middle", fmt.Sprintf("%.0f s", at.Seconds()))
	}
	for _, s := range p.Away {
		c.band("away", p, s, float64(c.top), bottom)
		c.text(c.x(s.From.Sub(p.From))+2, float64(c.top)+10, "", "start", s.Label)
	}
	if p.Gap.To.After(p.Gap.From) {
		c.band("gap", p, p.Gap, float64(c.top), bottom)
		c.text(c.x(p.Gap.To.Sub(p.From))+3, float64(c.top)+26, "", "start", p.Gap.Label)
	}
	for _, m := range p.Moves {
		x := c.x(m.At.Sub(p.From))
		class := "planned"
		if m.Bad {
			class = "unplanned"
		}
		c.add(`<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%.1f"/>`, class, x, x, c.top, bottom)
	}
	c.writes(p)
}

func (c *canvas) band(class string, p Panel, s Span, top, bottom float64) {
	from, to := c.x(s.From.Sub(p.From)), c.x(s.To.Sub(p.From))
	c.add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, from, top, math.Max(1, to-from), bottom-top)
}

// writes draws, for each column of the picture, the quickest to the slowest
// acknowledged write in it, and every failed one.
func (c *canvas) writes(p Panel) {
	type reach struct{ low, high time.Duration }
	reaches := map[int]reach{}
	for _, s := range p.Samples {
		column := int(c.x(s.At.Sub(p.From)))
		if s.Failed {
			c.add(`<circle class="failed" cx="%d" cy="%.1f" r="2.5"/>`, column, c.y(s.Took))
			continue
		}
		r, has := reaches[column]
		if !has {
			r = reach{s.Took, s.Took}
		}
		reaches[column] = reach{min(r.low, s.Took), max(r.high, s.Took)}
	}
	broad := max(1, columns*float64(p.Every)/float64(c.length))
	c.add(`<path class="write" fill="none" stroke-width="%.1f" d="`, broad)
	for column := left; column <= width-right; column++ {
		if r, has := reaches[column]; has {
			c.add("M%.1f %.1fV%.1f", float64(column)+(broad-1)/2, c.y(r.low)+.5, c.y(r.high)-.5)
		}
	}
	c.add(`"/>`)
}

func (c *canvas) legend(y int) {
	at, line := float64(left), float64(y+8)
	for _, l := range []struct{ mark, text string }{
		{`<line class="write" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, "acknowledged writes"},
		{`<line class="planned" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, "announced leader move"},
		{`<line class="unplanned" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, "election nobody announced"},
	} {
		c.add(l.mark, at, at+18, line, line)
		c.text(at+24, line+4, "", "start", l.text)
		at += 190
	}
	c.add(`<circle class="failed" cx="%.1f" cy="%.1f" r="2.5"/>`, at+4, line)
	c.text(at+12, line+4, "", "start", "failed write")
}

// tickOf is a round distance that leaves some ten labels.
func tickOf(length time.Duration) time.Duration {
	for _, step := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute} {
		if length/step <= 12 {
			return step
		}
	}
	return cmp.Or(length/10, time.Minute).Round(time.Minute)
}
