package main

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/scale/cost"
)

func TestThePageHasTargetsFirstAndEveryFigureOnce(t *testing.T) {
	text := render(results{
		Machine: "two cores", Commit: "abc", Software: "Kubernetes v1",
		Chapters: []chapter{
			{"Start", "How it was started.", []figure{within("listening", 12*time.Millisecond, listenTarget), plain("first answer", "40.0 ms")}},
			{"Memory", "As the kernel says.", []figure{below("peak", 31*cost.MiB, peakTarget)}},
			{"Allocations", "A benchmark.", []figure{plain("bytes", "500")}},
		},
		Profile: profile{Own: 400, Sites: []site{{"pkg/fn.toPatch", 100}, {"fmt.Sprintf", 50}}},
	})
	for _, want := range []string{
		"Machine: two cores. Kubernetes v1. Measured at commit abc.",
		"| listening | < 50 ms | 12.0 ms | met |",
		"| peak | < 30 MiB | 31.0 MiB | **missed** |",
		"## Start\n\nHow it was started.\n\n| | measured |\n|---|---|\n| listening | 12.0 ms |\n| first answer | 40.0 ms |\n",
		"of the 400 bytes", "| `pkg/fn.toPatch` | 100 | 25 % |\n", "| `fmt.Sprintf` | 50 | 12 % |\n",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
	targets, all, found := strings.Cut(text, "\n## Start\n")
	if !found || strings.Contains(targets, "first answer") || !strings.Contains(all, "| peak | 31.0 MiB |") {
		t.Errorf("figures are in the wrong place:\n%s", text)
	}
}

func TestAFigureMeetsItsBarOnlyIfItWasMeasuredAndIsBelow(t *testing.T) {
	for name, c := range map[string]struct {
		f    figure
		want bool
	}{
		"shorter":        {within("", 49999*time.Microsecond, 50*time.Millisecond), true},
		"as long":        {within("", 50*time.Millisecond, 50*time.Millisecond), false},
		"no time":        {within("", 0, 50*time.Millisecond), false},
		"smaller":        {below("", 30*cost.MiB-1, 30*cost.MiB), true},
		"as large":       {below("", 30*cost.MiB, 30*cost.MiB), false},
		"no size":        {below("", 0, 30*cost.MiB), false},
		"this count":     {exactly("", 2, 2), true},
		"another":        {exactly("", 3, 2), false},
		"nobody judged":  {figure{bar: "1"}, false},
		"none of no bar": {plain("", "1"), false},
	} {
		if c.f.met != c.want {
			t.Errorf("%s: %+v", name, c.f)
		}
		if got := c.f.verdict() == "met"; got != c.want {
			t.Errorf("%s: verdict %s", name, c.f.verdict())
		}
	}
}

func TestSpreadIsTheMiddleAndTheEnds(t *testing.T) {
	took := []time.Duration{30 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}
	if got := spread(took); got != "20.0 ms (10.0 ms to 30.0 ms)" {
		t.Error(got)
	}
}
