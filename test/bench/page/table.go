package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcdroll/etcdroll/test/bench/ledger"
)

// table has a column for each variant and a line for each metric.
func table(runs []ledger.Run, variants []Variant, grace string) string {
	var b strings.Builder
	b.WriteString("| |")
	var shown []Variant
	for _, v := range variants {
		if len(of(runs, v.Name, grace)) > 0 {
			shown = append(shown, v)
			fmt.Fprintf(&b, " %s |", v.Title)
		}
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(shown)) + "\n")
	line := func(what string, cell func(Variant, []ledger.Run) string) {
		fmt.Fprintf(&b, "| %s |", what)
		for _, v := range shown {
			fmt.Fprintf(&b, " %s |", cell(v, of(runs, v.Name, grace)))
		}
		b.WriteString("\n")
	}
	line("runs", func(_ Variant, mine []ledger.Run) string { return fmt.Sprint(len(mine)) })
	for i, m := range metrics {
		line(m.what, func(v Variant, mine []ledger.Run) string {
			if !m.applies(v) {
				return nothing
			}
			return spread(mine, m.of, m.digits)
		})
		if i == 0 { // beside the elections
			line("moves made / fewest possible, all runs", func(v Variant, mine []ledger.Run) string {
				if !v.Moves {
					return nothing
				}
				return moves(mine)
			})
		}
	}
	return b.String()
}

// failures are what the failed writes of all runs came to, by variant.
func failures(runs []ledger.Run, variants []Variant, grace string) string {
	var b strings.Builder
	for _, v := range variants {
		count := map[string]int{}
		for _, r := range of(runs, v.Name, grace) {
			for _, e := range r.Errors {
				count[e.Error] += e.N
			}
		}
		for _, text := range slices.Sorted(maps.Keys(count)) {
			fmt.Fprintf(&b, "- %s: %d times `%s`\n", v.Title, count[text], text)
		}
	}
	if b.Len() == 0 {
		return "\nNo write failed in any run.\n"
	}
	return "\nWhat the failed writes of all runs were told:\n\n" + b.String()
}

// beyond is where a variant spends what it takes beyond the floor.
func beyond(runs []ledger.Run, variants []Variant, graces []string) string {
	var b strings.Builder
	b.WriteString("\n## Beyond the floor\n\nWhere the wall time beyond the floor is spent, in seconds; with the floor it adds up to the wall time of each run.\n\n" +
		"| | grace | before the first restart | between restarts | after the last |\n|---|---|---|---|---|\n")
	for _, v := range variants {
		for _, grace := range graces {
			mine := of(runs, v.Name, grace)
			if len(mine) == 0 {
				continue
			}
			part := func(n int) string {
				return spread(mine, func(r ledger.Run) float64 {
					before, steps, after := between(r)
					return []float64{before, steps, after}[n]
				}, 2)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", v.Title, grace, part(0), part(1), part(2))
		}
	}
	return b.String()
}
