package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
}

func TestEveryFailedWriteMoveAndPodIsDrawn(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := Panel{
		Title: "etcd <3.6> to 3.7", From: at, To: at.Add(30 * time.Second),
		Away:  []Span{{From: at.Add(time.Second), To: at.Add(4 * time.Second), Label: "etcd-2"}},
		Gap:   Span{From: at.Add(2 * time.Second), To: at.Add(3 * time.Second), Label: "1000 ms"},
		Moves: []Moment{{At: at.Add(time.Second)}, {At: at.Add(2 * time.Second), Bad: true}},
	}
	for i := range 3000 {
		p.Samples = append(p.Samples, Sample{At: at.Add(time.Duration(i) * 10 * time.Millisecond), Took: time.Duration(i%9) * time.Millisecond, Failed: i%1000 == 0})
	}
	var out bytes.Buffer
	if err := Latency(&out, []Panel{p}); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, out.Bytes())
	svg := out.String()
	for what, want := range map[string]int{
		`class="failed"`: 3 + 1, `class="planned"`: 1 + 1, `class="unplanned"`: 1 + 1, // one each in the legend
		`class="away"`: 1, `class="gap"`: 1, "etcd &lt;3.6&gt; to 3.7": 1, ">1000 ms<": 1, ">etcd-2<": 1,
	} {
		if got := strings.Count(svg, what); got != want {
			t.Errorf("%d times %s, want %d", got, what, want)
		}
	}
	if got := strings.Count(svg, "\nM"); got < columns*9/10 {
		t.Errorf("writes in %d of %d columns", got, columns)
	}
	if len(svg) > 60_000 {
		t.Errorf("%d bytes for one panel", len(svg))
	}
}

func TestSlowerIsHigher(t *testing.T) {
	c := &canvas{length: time.Second}
	for took := fastest; took < slowest; took *= 2 {
		if c.y(took*2) >= c.y(took) {
			t.Errorf("%s is not above %s", took*2, took)
		}
	}
	if c.y(time.Hour) != c.y(slowest) || c.y(0) != c.y(fastest) {
		t.Error("the scale has no ends")
	}
}

func TestPanelsOfNoLengthAreRefused(t *testing.T) {
	if err := Latency(io.Discard, []Panel{{}}); err == nil {
		t.Error("drawn all the same")
	}
}

func TestTerminalKeepsEveryLine(t *testing.T) {
	var out bytes.Buffer
	if err := Terminal(&out, "kubectl etcdroll status etcd", []string{"a & b", "  <c>"}); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, out.Bytes())
	for _, want := range []string{"$ kubectl etcdroll status etcd", "a &amp; b", "  &lt;c&gt;"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not there", want)
		}
	}
}
