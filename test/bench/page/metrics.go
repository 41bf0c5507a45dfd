package page

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/test/bench/figures"
	"github.com/etcdroll/etcdroll/test/bench/ledger"
)

// metric is one line of the table. Nothing is said of a variant to which it
// does not apply.
type metric struct {
	what    string
	applies func(Variant) bool // nil: to all
	of      func(ledger.Run) float64
	digits  int
}

func all(Variant) bool { return true }

// metrics are the lines of which each has a value per run.
var metrics = []metric{
	{"unplanned elections", all, func(r ledger.Run) float64 { return float64(r.Unplanned) }, 0},
	{"longest write gap, s", all, func(r ledger.Run) float64 { return r.Gap.Seconds() }, 3},
	{"failed writes", all, func(r ledger.Run) float64 { return float64(r.Failed) }, 0},
	{"p99.9 of the writes, s", all, func(r ledger.Run) float64 { return r.P999.Seconds() }, 3},
	{"fewer than all members, s", all, func(r ledger.Run) float64 { return r.Degraded.Seconds() }, 2},
	{"members down at one time", all, func(r ledger.Run) float64 { return float64(r.MostDown) }, 0},
	{"wall time, s", all, func(r ledger.Run) float64 { return r.Wall.Seconds() }, 2},
	{"until all members are well, s", all, func(r ledger.Run) float64 { return r.Healthy.Seconds() }, 2},
	{"wall time / floor", all, ledger.Run.OverFloor, 3},
	{"wall time / floor without rests after moves", func(v Variant) bool { return v.Etcdroll }, ledger.Run.OverRestless, 3},
	{"API requests", func(v Variant) bool { return v.Identity }, func(r ledger.Run) float64 { return float64(r.Requests) }, 0},
	{"of them writes", func(v Variant) bool { return v.Identity }, func(r ledger.Run) float64 { return float64(r.Writes) }, 0},
	{"processor time of etcdroll, s", func(v Variant) bool { return v.Etcdroll }, func(r ledger.Run) float64 { return r.CPU().Seconds() }, 2},
}

const nothing = "–"

// spread is "MEDIAN (MIN to MAX)", or one figure where all are equal.
func spread(runs []ledger.Run, of func(ledger.Run) float64, digits int) string {
	s := spreadOf(runs, of)
	if s.N == 0 {
		return nothing
	}
	low, high, middle := number(s.Min, digits), number(s.Max, digits), number(s.Median, digits)
	if math.Trunc(s.Median) != s.Median && digits == 0 {
		middle = number(s.Median, 1) // between two counts
	}
	if low == high {
		return low
	}
	return fmt.Sprintf("%s (%s to %s)", middle, low, high)
}

func spreadOf(runs []ledger.Run, of func(ledger.Run) float64) figures.Spread {
	var values []float64
	for _, r := range runs {
		values = append(values, of(r))
	}
	return figures.SpreadOf(values)
}

func number(n float64, digits int) string { return fmt.Sprintf("%.*f", digits, n) }

// moves are summed up over all runs, since the minimum depends on the start.
func moves(runs []ledger.Run) string {
	made, minimum := 0, 0
	for _, r := range runs {
		made, minimum = made+r.Moves, minimum+r.Minimum
	}
	return fmt.Sprintf("%d / %d", made, minimum)
}

// between are the times in which no pod was on its way, less the soaks and rests
// in them: what a variant adds to the floor, by where it adds it.
func between(r ledger.Run) (before, steps, after float64) {
	times := figures.Between(r.Restarts, r.Wall)
	last := len(times) - 1
	for i := 1; i <= last; i++ {
		times[i] -= r.Soaks / time.Duration(last)
	}
	for _, e := range r.Elections {
		if e.Planned && r.Moves > 0 {
			times[began(r.Restarts, e.At)] -= r.Rests / time.Duration(r.Moves)
		}
	}
	for i, t := range times {
		switch i {
		case 0:
			before = t.Seconds()
		case last:
			after = t.Seconds()
		default:
			steps += t.Seconds()
		}
	}
	return before, steps, after
}

// began counts the restarts that had begun by then.
func began(restarts []figures.Restart, at time.Duration) (n int) {
	for _, s := range restarts {
		if s.From <= at {
			n++
		}
	}
	return n
}

// of are the finished runs of a variant with a grace.
func of(runs []ledger.Run, variant, grace string) []ledger.Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r ledger.Run) bool {
		return r.Variant != variant || r.Grace != grace || r.Outcome != ledger.Finished
	})
}
