package sim

import (
	"slices"
	"testing"
)

// TestEveryGapIsReported: what is not met fails the walks, each by its name;
// so does what is met although it is said to be out of reach.
func TestEveryGapIsReported(t *testing.T) {
	full := newCoverage()
	named := map[string]bool{}
	full.each(func(what string, _ int) {
		named[what] = true
		if unreachable[what] == "" {
			full.meet(what, 1)
		}
	})
	if gaps := full.gaps(); len(gaps) > 0 {
		t.Fatalf("nothing is missing, and yet: %v", gaps)
	}
	for what := range named {
		reached := unreachable[what] == ""
		want := what + " was never met"
		if reached {
			full.meet(what, -1)
		} else {
			full.meet(what, 1)
			want = what + " was met 1 times, although " + unreachable[what]
		}
		if gaps := full.gaps(); !slices.Equal(gaps, []string{want}) {
			t.Errorf("%s: %v", what, gaps)
		}
		if reached {
			full.meet(what, 1)
		} else {
			full.meet(what, -1)
		}
	}
	for what := range unreachable {
		if !named[what] {
			t.Errorf("%s is out of reach and does not exist", what)
		}
	}
}

// meet changes how often something was met.
func (c *coverage) meet(what string, times int) {
	for prefix, t := range map[string]tally{"rule ": c.rules, "reason ": c.reasons, "objection of gate ": c.gates} {
		if len(what) > len(prefix) && what[:len(prefix)] == prefix {
			t[what[len(prefix):]] += times
		}
	}
}
