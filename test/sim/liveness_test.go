package sim

import (
	"testing"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// randomState walks with faults for a random time and stops where it happens
// to be.
func randomState(seed uint64, what decide) *world {
	w := newWorld(seed, what)
	w.rough = !w.calm
	w.pass(1+w.IntN(2*w.profile.rough), func() bool { return false })
	return w
}

// TestLiveness: from 1,000 random states, faults over, the set converges or
// stands still with a reason within tailVisits events, tailWrites writes and
// tailTicks ticks. The bounds are kept by toRest, in every other walk too.
func TestLiveness(t *testing.T) {
	ends, seen, midway := tally{}, newCoverage(), 0
	for seed := range uint64(1_000) {
		w := randomState(500_000+seed, theProduct())
		w.calmDown()
		if !w.converged() {
			midway++
		}
		ends[w.toRest("with faults over")]++
		if w.ledger.broken != nil {
			t.Errorf("seed %d broke %s: %s", 500_000+seed, w.ledger.broken.invariant, w.ledger.broken.text)
		}
		w.seen.walks, w.seen.ticks, w.seen.writes = 1, w.tick, w.ledger.writes
		seen.add(w.seen)
	}
	for n := range seen.mostVisits {
		t.Logf("%d replicas: at most %d visits (bound %d)", n, seen.mostVisits[n], tailVisits(n))
	}
	t.Logf("%s", ends.table("ends"))
	if midway < 700 || ends["converged"] < 500 {
		t.Errorf("only %d of 1000 states were not at rest, and %d converged", midway, ends["converged"])
	}
}

// TestLivenessBites: a product that waits for ever is not alive, and one that
// takes its time over every step is out of bounds.
func TestLivenessBites(t *testing.T) {
	for name, what := range map[string]decide{
		"waits for ever": mutate(func(_ roll.Observed, d *roll.Decision) {
			if d.Step == roll.StepRelease {
				d.Write, d.Step, d.Outcome = nil, roll.NoStep, roll.Waiting
			}
		}),
		"never says that it is done": mutate(func(_ roll.Observed, d *roll.Decision) {
			if d.Outcome == roll.Converged {
				d.Write, d.Outcome = nil, roll.Waiting
			}
		}),
		"steps without end": mutate(func(o roll.Observed, d *roll.Decision) {
			if d.Write == nil && d.Outcome == roll.Waiting {
				rewrite(o, d, func(*roll.Write) {})
			}
		}),
	} {
		broken := 0
		for seed := range uint64(30) {
			w := randomState(500_000+seed, what)
			w.calmDown()
			w.toRest("with faults over")
			if w.ledger.broken != nil && w.ledger.broken.invariant == i5 {
				broken++
			}
		}
		if broken == 0 {
			t.Errorf("a product that %s passes", name)
		}
		t.Logf("a product that %s is caught in %d of 30 states", name, broken)
	}
}
