// Package figures makes figures of what was seen. It is pure.
package figures

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Restart is one pod going away and its successor becoming Ready, as the pods'
// own events say: From is when the deletion was seen, since the template change,
// Took is until the successor's condition Ready was seen.
type Restart struct {
	Index int
	From  time.Duration
	Took  time.Duration
}

// Floor is what no driver can undercut that takes one member at a time: the
// restarts, one after the other, and the soaks that it was configured to keep.
func Floor(restarts []Restart, soaks time.Duration) time.Duration {
	floor := soaks
	for _, r := range restarts {
		floor += r.Took
	}
	return floor
}

// Ratio is 0 where there is nothing to compare with.
func Ratio(a, b time.Duration) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Between are the times in which no pod was on its way: before the first
// restart, between each two, and after the last until the end. With the
// restarts they add up to end, unless restarts overlap; then some are negative.
func Between(restarts []Restart, end time.Duration) []time.Duration {
	var between []time.Duration
	last := time.Duration(0)
	for _, r := range slices.SortedFunc(slices.Values(restarts), func(a, b Restart) int { return cmp.Compare(a.From, b.From) }) {
		between = append(between, r.From-last)
		last = r.From + r.Took
	}
	return append(between, end-last)
}

// Write is one write.
type Write struct {
	At     time.Duration // since the template change
	Took   time.Duration
	Failed bool
}

// Gap is the longest time within [0, end] in which no write was acknowledged,
// and when it began.
func Gap(writes []Write, end time.Duration) (from, longest time.Duration) {
	acked := []time.Duration{0, end}
	for _, w := range writes {
		if at := w.At + w.Took; !w.Failed && at > 0 && at < end {
			acked = append(acked, at)
		}
	}
	slices.Sort(acked)
	for i := 1; i < len(acked); i++ {
		if gap := acked[i] - acked[i-1]; gap > longest {
			from, longest = acked[i-1], gap
		}
	}
	return from, longest
}

// Percentile is the nearest rank; 0 of nothing.
func Percentile[T cmp.Ordered](values []T, p float64) T {
	if len(values) == 0 {
		var none T
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p*float64(len(sorted))/100 - 1e-9)) // 99.9 has no exact form
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Times are how long the writes took, failed ones until they were given up.
func Times(writes []Write) []time.Duration {
	var times []time.Duration
	for _, w := range writes {
		times = append(times, w.Took)
	}
	return times
}

// Spread is the middle of values and how far they go.
type Spread struct {
	N                int // how many there are
	Median, Min, Max float64
}

// SpreadOf is zero for no values. Of an even number the median lies between the
// two in the middle.
func SpreadOf(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Spread{N: n, Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// MinimumMoves is the fewest leader moves with which every one of the members
// can be restarted while it does not lead. From the highest index downward the
// first one moves if it leads, to any other, and lowest of all one more time; where the
// leader may come last, one is enough.
func MinimumMoves(members, leader int, downward bool) int {
	switch {
	case members < 2:
		return 0
	case downward && leader == members-1:
		return 2
	}
	return 1
}
