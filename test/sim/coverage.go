package sim

import "github.com/etcdroll/etcdroll/pkg/fn/roll"

// coverage counts what the walks met.
type coverage struct {
	walks, ticks, runs, writes, conflicts int

	rules, reasons, gates, ends, counts map[string]int
	mostWrites, mostTicks               map[int]int // by replicas, of a tail
}

func newCoverage() *coverage {
	return &coverage{
		rules: map[string]int{}, reasons: map[string]int{}, gates: map[string]int{}, ends: map[string]int{}, counts: map[string]int{},
		mostWrites: map[int]int{}, mostTicks: map[int]int{},
	}
}

// first notes a decision that asked for more.
func (c *coverage) first(roll.Decision) { c.runs++ }

// final notes a decision that was acted upon.
func (c *coverage) final(_ *roll.Observed, d roll.Decision) {
	c.rules[d.Rule]++
	c.reasons[string(d.Reason)]++
	for _, f := range d.Verdict {
		if f.Closed() {
			c.gates[string(f.Gate)]++
		}
	}
}

// add merges another walk's counts.
func (c *coverage) add(o *coverage) {
	c.walks += o.walks
	c.ticks += o.ticks
	c.runs += o.runs
	c.writes += o.writes
	c.conflicts += o.conflicts
	for _, pair := range [][2]map[string]int{{c.rules, o.rules}, {c.reasons, o.reasons}, {c.gates, o.gates}, {c.ends, o.ends}, {c.counts, o.counts}} {
		for k, n := range pair[1] {
			pair[0][k] += n
		}
	}
	for _, pair := range [][2]map[int]int{{c.mostWrites, o.mostWrites}, {c.mostTicks, o.mostTicks}} {
		for k, n := range pair[1] {
			pair[0][k] = max(pair[0][k], n)
		}
	}
}
