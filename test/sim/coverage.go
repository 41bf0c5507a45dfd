package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// tally counts by name.
type tally map[string]int

func (t tally) add(o tally) {
	for k, n := range o {
		t[k] += n
	}
}

func (t tally) table(title string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s:", title)
	for _, k := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&b, "\n  %9d  %s", t[k], k)
	}
	return b.String()
}

// coverage counts what the walks met.
type coverage struct {
	walks, ticks, runs, writes, conflicts int

	rules, reasons, gates, ends, counts tally
	mostWrites, mostTicks, mostVisits   map[int]int // by replicas, in a tail
}

func newCoverage() *coverage {
	return &coverage{
		rules: tally{}, reasons: tally{}, gates: tally{}, ends: tally{}, counts: tally{},
		mostWrites: map[int]int{}, mostTicks: map[int]int{}, mostVisits: map[int]int{},
	}
}

// final notes a decision that was acted upon.
func (c *coverage) final(d roll.Decision) {
	c.runs++
	c.rules[d.Rule]++
	c.reasons[string(d.Reason)]++
	for i := range d.Verdict {
		if d.Verdict[i].Closed() {
			c.gates[string(d.Verdict[i].Gate)]++
		}
	}
}

// add merges the counts of other walks.
func (c *coverage) add(o *coverage) {
	c.walks += o.walks
	c.ticks += o.ticks
	c.runs += o.runs
	c.writes += o.writes
	c.conflicts += o.conflicts
	c.rules.add(o.rules)
	c.reasons.add(o.reasons)
	c.gates.add(o.gates)
	c.ends.add(o.ends)
	c.counts.add(o.counts)
	for n, most := range o.mostWrites {
		c.mostWrites[n] = max(c.mostWrites[n], most)
	}
	for n, most := range o.mostVisits {
		c.mostVisits[n] = max(c.mostVisits[n], most)
	}
	for n, most := range o.mostTicks {
		c.mostTicks[n] = max(c.mostTicks[n], most)
	}
}

// String is the report.
func (c *coverage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d walks, %d ticks, %d decisions, %d writes, %d conflicts", c.walks, c.ticks, c.runs, c.writes, c.conflicts)
	b.WriteString(c.rules.table("rules"))
	b.WriteString(c.reasons.table("reasons"))
	b.WriteString(c.gates.table("objections by gate"))
	b.WriteString(neverMet())
	b.WriteString(c.ends.table("ends with faults over"))
	b.WriteString(c.counts.table("drift and exceptions"))
	for _, n := range slices.Sorted(maps.Keys(c.mostTicks)) {
		fmt.Fprintf(&b, "\n%d replicas: at rest after at most %d ticks (bound %d), %d writes (bound %d) and %d visits (bound %d)",
			n, c.mostTicks[n], tailTicks(n), c.mostWrites[n], tailWrites(n), c.mostVisits[n], tailVisits(n))
	}
	return b.String()
}
