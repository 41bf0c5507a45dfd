package screen

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestATableFitsItsWidthByLeavingOutWhatIsSpare(t *testing.T) {
	table := Table{
		Columns: []Column{{"NAME", 0}, {"NODE", 2}, {"AGE", 1}, {"MESSAGE", 0}},
		Rows:    [][]Cell{{{"etcd-0", Plain}, {"a-node-with-a-long-name", Plain}, {"12d", Plain}, {strings.Repeat("word ", 20), Plain}}},
	}
	for width, want := range map[int]string{0: "NAME    NODE                     AGE  MESSAGE", 60: "NAME    NODE                     AGE  MESSAGE", 40: "NAME    AGE  MESSAGE", 26: "NAME    MESSAGE"} {
		lines := table.Lines(Style{Width: width})
		if lines[0] != want {
			t.Errorf("width %d: header %q, want %q", width, lines[0], want)
		}
		for _, l := range lines {
			if width > 0 && len(l) > width {
				t.Errorf("width %d: line of %d: %q", width, len(l), l)
			}
		}
	}
}

func TestColoursAreOnlyForTerminalsThatWantThem(t *testing.T) {
	if s := StyleOf(&bytes.Buffer{}, os.Getenv); s != (Style{}) {
		t.Errorf("a buffer is no terminal: %+v", s)
	}
	if got := (Style{}).Paint(Bad, "x"); got != "x" {
		t.Errorf("plain text is painted: %q", got)
	}
	if got := (Style{Colour: true}).Paint(Bad, "x"); got == "x" {
		t.Error("colour is missing")
	}
}

func TestBars(t *testing.T) {
	for _, c := range []struct {
		style     Style
		done, all int
		want      string
	}{
		{Style{}, 0, 3, "......"}, {Style{}, 1, 3, "##...."}, {Style{}, 3, 3, "######"}, {Style{}, 4, 3, "######"}, {Style{}, 0, 0, "......"},
		{Style{Unicode: true}, 2, 3, "████░░"},
	} {
		if got := c.style.Bar(c.done, c.all, 6); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.done, c.all, got, c.want)
		}
	}
}

func TestWrapKeepsEveryWordWithinTheWidth(t *testing.T) {
	text := "CaughtUp: etcd-2 is 6231 entries behind the leader (wants: at most 5000); Soaked: 3s"
	lines := Style{Width: 40}.Wrap("  ", "    ", text)
	if got := strings.Join(strings.Fields(strings.Join(lines, " ")), " "); got != text {
		t.Errorf("words are lost: %q", got)
	}
	for _, l := range lines {
		if len(l) > 40 {
			t.Errorf("line of %d: %q", len(l), l)
		}
	}
}

func TestColoursTakeNoRoom(t *testing.T) {
	painted := Style{Colour: true}.Paint(Bad, "Halted") + ": four words of text"
	if got := (Style{Width: 30}).Wrap("", "", painted); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestALineFitsWithItsColours(t *testing.T) {
	style := Style{Width: 8, Colour: true}
	line := style.Paint(Bad, "Halted") + " at etcd-2"
	if got, want := style.Fit(line), "\x1b[31;1mHalted\x1b[0m a\x1b[0m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := style.Fit("short"); got != "short" {
		t.Errorf("%q", got)
	}
	if got := (Style{Width: 4}).Fit("██████"); got != "████" {
		t.Errorf("%q", got)
	}
}

func TestABlockCoversTheOneBefore(t *testing.T) {
	var out bytes.Buffer
	b := Block{Out: &out}
	b.Draw([]string{"one", "two"})
	out.Reset()
	b.Draw([]string{"three"})
	if got := out.String(); got != "\x1b[2A\rthree\x1b[K\n\x1b[J" {
		t.Errorf("%q", got)
	}
}
