package page

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/bench/figures"
	"github.com/etcdroll/etcdroll/test/bench/ledger"
)

var variants = []Variant{
	{Name: "native", Title: "native"},
	{Name: "direct", Title: "etcdroll, direct", Moves: true, Etcdroll: true, Identity: true},
	{Name: "broker", Title: "etcdroll, broker", Moves: true, Etcdroll: true, Identity: true, Broker: true},
}

// aRun has a floor of ten seconds.
func aRun(variant string, number int, wall time.Duration) ledger.Run {
	return ledger.Run{
		Key: ledger.Key{Variant: variant, Grace: "term", Number: number}, Setting: ledger.Setting{Config: "three members", Machine: "two cores", Commit: "abc"},
		Outcome: ledger.Finished, Minimum: 1, Moves: 1, Sent: 1000, Gap: time.Duration(number+1) * 100 * time.Millisecond, Wall: wall, Soaks: 6 * time.Second,
		Restarts: []figures.Restart{{Index: 1, From: time.Second, Took: 2 * time.Second}, {Index: 0, From: 7 * time.Second, Took: 2 * time.Second}},
	}
}

func line(t *testing.T, page, begins string) string {
	t.Helper()
	for l := range strings.Lines(page) {
		if strings.HasPrefix(l, begins) {
			return strings.TrimSpace(l)
		}
	}
	t.Fatalf("no line begins with %q in\n%s", begins, page)
	return ""
}

func TestEveryVerdictIsTheFigures(t *testing.T) {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	for name, c := range map[string]struct {
		walls []float64
		want  string
	}{
		"met":             {[]float64{10.2, 10.3, 10.5}, "| 1.030 (1.020 to 1.050) | 3 of 3 | met |"},
		"met by the half": {[]float64{10.2, 10.3, 10.6}, "| 1.030 (1.020 to 1.060) | 2 of 3 | met by the median, not by every run |"},
		"missed":          {[]float64{10.2, 10.7, 10.6}, "| 1.060 (1.020 to 1.070) | 1 of 3 | **missed** |"},
		"nothing":         {nil, "| – | 0 of 0 | not measured |"},
	} {
		runs := []ledger.Run{aRun("native", 0, seconds(99))}
		for i, wall := range c.walls {
			runs = append(runs, aRun("direct", i, seconds(wall)))
		}
		text := Render(runs, variants, nil)
		if got := line(t, text, "| wall time at most 1.05"); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := line(t, text, "| wall time at most 1.15"); !strings.HasSuffix(got, "not measured |") {
			t.Errorf("%s: nothing went through the broker: %s", name, got)
		}
	}
}

func TestOneElectionMissesTheTarget(t *testing.T) {
	runs := []ledger.Run{aRun("direct", 0, 0), aRun("direct", 1, 0), aRun("direct", 2, 0)}
	runs[1].Unplanned, runs[2].Moves = 1, 2
	text := Render(runs, variants, nil)
	for begins, want := range map[string]string{
		"| no unplanned election, direct":   "| 0 (0 to 1) | 2 of 3 | **missed** |",
		"| moves at the minimum, direct":    "| 0 (0 to 1) | 2 of 3 | **missed** |",
		"| moves made / fewest possible":    "| 4 / 3 |",
		"| unplanned elections":             "| 0 (0 to 1) |",
		"| processor time of etcdroll":      "| 0.00 |",
		"| no unplanned election, through ": "not measured |",
	} {
		if got := line(t, text, begins); !strings.HasSuffix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestNothingIsSaidOfAVariantToWhichItDoesNotApply(t *testing.T) {
	text := Render([]ledger.Run{aRun("native", 0, 0), aRun("direct", 0, 0)}, variants, nil)
	for _, begins := range []string{"| moves made", "| API requests", "| of them writes", "| processor time"} {
		if got := line(t, text, begins); !strings.Contains(got, "| – | ") {
			t.Error(got)
		}
	}
	if strings.Contains(text, "With lost grace") {
		t.Error("there is a section without runs")
	}
}

func TestThePageSaysHowManyRunsThereAreAndWhatWentWrong(t *testing.T) {
	runs := []ledger.Run{aRun("native", 0, 0), aRun("direct", 0, 0)}
	runs[1].Outcome, runs[1].Unplanned, runs[1].Commit = "the roll has not ended", 50, "def"
	text := Render(runs, variants, nil)
	for _, want := range []string{"**2 runs**, 0 to 1 of each variant with each grace; meant are 10", "1 did not come to a good end", "- direct with term, run 0: the roll has not ended", "abc (1 runs); def (1 runs)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text[:1500])
		}
	}
	if got := line(t, text, "| no unplanned election, direct"); !strings.HasSuffix(got, "| – | 0 of 0 | not measured |") {
		t.Errorf("a run that did not end counts: %s", got)
	}
	whole := slices.Repeat([]ledger.Run{aRun("native", 0, 0)}, Meant)
	for _, r := range whole[:Meant] {
		r.Grace = "kill"
		whole = append(whole, r)
	}
	text = Render(whole, variants[:1], nil)
	if !strings.Contains(text, "**20 runs**, 10 of each variant with each grace. Every one of them came to its end") {
		t.Errorf("it does not say that all is there and went well:\n%.1500s", text)
	}
}

func TestWhatLiesBeyondTheFloorIsToldByPlace(t *testing.T) {
	r := aRun("direct", 0, 13*time.Second)
	if got := line(t, Render([]ledger.Run{r}, variants, nil), "| etcdroll, direct | term"); got != "| etcdroll, direct | term | 1.00 | 1.00 | 1.00 |" {
		t.Error(got) // 1 before; 3 to 7 less a soak of three; 9 to 13 less a soak
	}
	r.Rests, r.Elections = 500*time.Millisecond, []ledger.Election{{At: 6 * time.Second, Planned: true}, {At: 0}}
	if got := line(t, Render([]ledger.Run{r}, variants, nil), "| etcdroll, direct | term"); got != "| etcdroll, direct | term | 1.00 | 0.50 | 1.00 |" {
		t.Error(got) // the rest belongs to where the move was
	}
	if before, steps, after := between(r); before+steps+after+r.Floor().Seconds() != r.Wall.Seconds() {
		t.Errorf("%v, %v, %v and the floor of %s do not add up to %s", before, steps, after, r.Floor(), r.Wall)
	}
}

func TestFailedWritesAreToldByWhatTheyCameTo(t *testing.T) {
	runs := []ledger.Run{aRun("direct", 0, 0), aRun("direct", 1, 0), aRun("native", 0, 0)}
	if text := Render(runs, variants, nil); !strings.Contains(text, "No write failed in any run.") {
		t.Error("it does not say that none failed")
	}
	for i := range runs {
		runs[i].Errors = []ledger.Count{{Error: "leader changed", N: i + 1}}
	}
	if got := line(t, Render(runs, variants, nil), "- etcdroll, direct: "); got != "- etcdroll, direct: 3 times `leader changed`" {
		t.Error(got)
	}
}

func TestMedianOfCountsMayLieBetweenTwo(t *testing.T) {
	runs := []ledger.Run{aRun("direct", 0, 0), aRun("direct", 1, 0)}
	runs[1].Requests = 3
	if got := spread(runs, func(r ledger.Run) float64 { return float64(r.Requests) }, 0); got != "1.5 (0 to 3)" {
		t.Error(got)
	}
}

func TestTheRunInTheMiddleIsDrawn(t *testing.T) {
	dir := In(t.TempDir())
	for i := range 4 {
		r := aRun("direct", i, 13*time.Second)
		if err := ledger.Append(dir.Runs, r); err != nil {
			t.Fatal(err)
		}
		if err := ledger.AppendLatency(dir.Latency, ledger.Latency{Key: r.Key, Buckets: make([]ledger.Bucket, 130)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(dir, variants); err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(filepath.Join(dir.Pictures, "writes-term.svg"))
	if err != nil || !strings.Contains(string(picture), fmt.Sprintf("gap %d ms", 200)) || strings.Count(string(picture), `class="away"`) != 2 {
		t.Errorf("%v: %.800s", err, picture)
	}
	text, err := os.ReadFile(dir.Page)
	if err != nil || !strings.Contains(string(text), "benchmarks/writes-term.svg") || strings.Contains(string(text), "writes-kill.svg") {
		t.Errorf("%v: the page does not show just the picture that there is", err)
	}
}

func TestNoRowsNoPage(t *testing.T) {
	if err := Write(In(t.TempDir()), variants); err == nil {
		t.Error("written all the same")
	}
}
