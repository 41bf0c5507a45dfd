package sim

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var ticks = flag.Int("sim.ticks", 0, "simulate at least this many ticks in TestAtScale")

// TestRandomWalks is the proof that make test runs: 20,000 walks, or
// SIM_WALKS of them.
func TestRandomWalks(t *testing.T) {
	walks := 20_000
	if testing.Short() {
		walks = 1_000
	}
	if text := os.Getenv("SIM_WALKS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("SIM_WALKS: %v", err)
		}
		walks = n
	}
	began := time.Now()
	seen, failures := fleet(1, walks, theProduct(), 5)
	t.Logf("%s\nin %s", seen, time.Since(began).Round(time.Second))
	report(t, failures)
	if walks >= 5_000 && len(failures) == 0 {
		for _, gap := range seen.gaps() {
			t.Error(gap)
		}
	}
}

// report tells each failure, and the timeline of the first.
func report(t *testing.T, failures []result) {
	t.Helper()
	for i, f := range failures {
		t.Errorf("seed %d broke %s at tick %d: %s\n  replay: SIM_SEED=%d go test ./test/sim -run TestReplay -v", f.seed, f.broken.invariant, f.broken.tick, f.broken.text, f.seed)
		if i == 0 {
			again := walk(f.seed, theProduct(), true)
			t.Logf("%s\n%s", again.about, strings.Join(again.tale.last(80), "\n"))
		}
	}
}

// TestReplay walks the seed in SIM_SEED again and tells its timeline.
func TestReplay(t *testing.T) {
	text := os.Getenv("SIM_SEED")
	if text == "" {
		t.Skip("set SIM_SEED to replay a walk")
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SIM_SEED: %v", err)
	}
	r := walk(seed, theProduct(), true)
	t.Logf("%s\n%s\nend: %s", r.about, strings.Join(r.tale.lines, "\n"), r.end)
	if r.broken != nil {
		t.Errorf("broke %s at tick %d: %s", r.broken.invariant, r.broken.tick, r.broken.text)
	}
}

// TestTheSameSeedIsTheSameWalk: a failing seed can be replayed.
func TestTheSameSeedIsTheSameWalk(t *testing.T) {
	for seed := range uint64(40) {
		a, b := walk(seed, theProduct(), true), walk(seed, theProduct(), true)
		if x, y := strings.Join(a.tale.lines, "\n"), strings.Join(b.tale.lines, "\n"); x != y {
			t.Fatalf("seed %d: two walks differ", seed)
		}
		if quiet := walk(seed, theProduct(), false); quiet.end != a.end || quiet.seen.ticks != a.seen.ticks {
			t.Fatalf("seed %d: telling the walk changes it", seed)
		}
	}
}

// TestAtScale goes on until -sim.ticks have passed, on seeds of its own.
func TestAtScale(t *testing.T) {
	if *ticks == 0 {
		t.Skip("run with -args -sim.ticks=10000000, or make sim TICKS=10000000")
	}
	const first, batch = 1_000_000, 2_000
	total, began := newCoverage(), time.Now()
	for from := uint64(first); total.ticks < *ticks && !t.Failed(); from += batch {
		seen, failures := fleet(from, batch, theProduct(), 5)
		total.add(seen)
		report(t, failures)
	}
	rate := float64(total.ticks) / time.Since(began).Seconds()
	t.Logf("%s\n%.0f ticks a second, %.0f times as fast as time", total, rate, rate*tickLength.Seconds())
	for _, gap := range total.gaps() {
		t.Error(gap)
	}
}
