package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
)

// Tables are the figures over all rows, in Markdown.
func Tables(rows []Row) string {
	var b strings.Builder
	b.WriteString(totals(rows))
	b.WriteString("\n| set | rolls |\n|---|---|\n")
	shapes := map[string]int{}
	for _, r := range rows {
		shapes[r.Shape]++
	}
	for _, s := range slices.Sorted(maps.Keys(shapes)) {
		fmt.Fprintf(&b, "| %s | %d |\n", s, shapes[s])
	}
	b.WriteString(broken(rows))
	b.WriteString("\n| what came about | times |\n|---|---|\n")
	kinds := Kinds(rows)
	for _, k := range plan.Kinds {
		fmt.Fprintf(&b, "| %s | %d |\n", k, kinds[k])
	}
	return b.String()
}

// broken lists the rounds that broke something, with the seed to make them again.
func broken(rows []Row) string {
	var b strings.Builder
	for _, r := range rows {
		if len(r.Broken) > 0 {
			fmt.Fprintf(&b, "| %d | %d | %s | %s |\n", r.Seed, r.Round, r.Shape, strings.Join(slices.Compact(slices.Clone(r.Broken)), ", "))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n| seed | round | set | broken |\n|---|---|---|---|\n" + b.String()
}

func totals(rows []Row) string {
	var sum Row
	faults, failed := 0, 0
	seeds := map[int64]bool{}
	var longest time.Duration
	for _, r := range rows {
		seeds[r.Seed] = true
		faults += len(r.Faults)
		failed += min(1, len(r.Broken))
		longest = max(longest, r.Took)
		sum.Took += r.Took
		sum.Planned += r.Planned
		sum.Explained += r.Explained
		sum.Unplanned += r.Unplanned
		sum.Halts += r.Halts
		sum.Acked += r.Acked
		sum.Lost += r.Lost
	}
	mean := time.Duration(0)
	if len(rows) > 0 {
		mean = sum.Took / time.Duration(len(rows))
	}
	var b strings.Builder
	b.WriteString("| what | how much |\n|---|---|\n")
	for _, line := range []struct {
		what string
		much any
	}{
		{"rounds", len(rows)}, {"seeds", len(seeds)}, {"rounds with a broken invariant", failed}, {"faults that came about", faults},
		{"leader moves", sum.Planned}, {"other elections, explained by a fault", sum.Explained}, {"other elections, unexplained", sum.Unplanned},
		{"halts", sum.Halts}, {"writes acknowledged", sum.Acked}, {"of these lost", sum.Lost},
		{"a round took, mean", mean.Round(100 * time.Millisecond)}, {"a round took, longest", longest.Round(100 * time.Millisecond)},
	} {
		fmt.Fprintf(&b, "| %s | %v |\n", line.what, line.much)
	}
	return b.String()
}
