package figures

import (
	"slices"
	"testing"
	"time"
)

const s = time.Second

func TestTheFloorIsRestartsAndSoaksAndNothingElse(t *testing.T) {
	restarts := []Restart{{Index: 2, From: 1 * s, Took: 2 * s}, {Index: 1, From: 8 * s, Took: 3 * s}, {Index: 0, From: 20 * s, Took: 4 * s}}
	if got := Floor(restarts, 6*s); got != 15*s {
		t.Errorf("floor %s, want 15s: the times between restarts do not belong to it", got)
	}
	if got := Floor(nil, 0); got != 0 || Ratio(s, got) != 0 {
		t.Errorf("no restart has a floor of %s", got)
	}
	if got := Ratio(30*s, 15*s); got != 2 {
		t.Errorf("ratio %v, want 2", got)
	}
}

func TestWhatLiesBetweenRestartsAddsUpToTheWholeTime(t *testing.T) {
	for _, restarts := range [][]Restart{
		{{2, 1 * s, 2 * s}, {1, 8 * s, 3 * s}, {0, 20 * s, 4 * s}},
		{{0, 20 * s, 4 * s}, {2, 1 * s, 2 * s}, {1, 8 * s, 3 * s}}, // in whatever order
		{{2, 1 * s, 9 * s}, {1, 8 * s, 3 * s}},                     // overlapping
		nil,
	} {
		total := Floor(restarts, 0)
		between := Between(restarts, 30*s)
		for _, b := range between {
			total += b
		}
		if total != 30*s || len(between) != len(restarts)+1 {
			t.Errorf("%v: %v adds up to %s", restarts, between, total)
		}
	}
	if got := Between([]Restart{{2, 1 * s, 2 * s}, {1, 8 * s, 3 * s}}, 12*s); !slices.Equal(got, []time.Duration{1 * s, 5 * s, 1 * s}) {
		t.Errorf("between: %v", got)
	}
}

func TestTheGapIsTheLongestTimeWithoutAnAcknowledgedWrite(t *testing.T) {
	for name, c := range map[string]struct {
		writes        []Write
		from, longest time.Duration
	}{
		"in the middle":                {[]Write{{0, s, false}, {3 * s, 2 * s, false}, {6 * s, s, false}, {8 * s, s, false}}, 1 * s, 4 * s},
		"failed writes close nothing":  {[]Write{{0, s, false}, {2 * s, s, true}, {6 * s, s, false}, {8 * s, s, false}}, 1 * s, 6 * s},
		"at the end":                   {[]Write{{0, s, false}, {1 * s, s, false}}, 2 * s, 8 * s},
		"at the beginning":             {[]Write{{7 * s, s, false}}, 0, 8 * s},
		"none acknowledged at all":     {[]Write{{1 * s, 5 * s, true}}, 0, 10 * s},
		"acknowledged out of order":    {[]Write{{0, 9 * s, false}, {1 * s, s, false}, {4 * s, s, false}}, 5 * s, 4 * s},
		"what comes after is not ours": {[]Write{{0, 5 * s, false}, {9 * s, 4 * s, false}}, 0, 5 * s},
	} {
		if from, longest := Gap(c.writes, 10*s); from != c.from || longest != c.longest {
			t.Errorf("%s: %s at %s, want %s at %s", name, longest, from, c.longest, c.from)
		}
	}
}

func TestPercentilesAreValuesThatWereMeasured(t *testing.T) {
	var thousand []int
	for i := range 1000 {
		thousand = append(thousand, 1000-i)
	}
	for p, want := range map[float64]int{0: 1, 50: 500, 99: 990, 99.9: 999, 100: 1000} {
		if got := Percentile(thousand, p); got != want {
			t.Errorf("%v: %d, want %d", p, got, want)
		}
	}
	if got := Percentile([]int{7}, 99.9); got != 7 {
		t.Errorf("of one: %d", got)
	}
	if got := Percentile([]int(nil), 99.9); got != 0 {
		t.Errorf("of none: %d", got)
	}
	if thousand[0] != 1000 {
		t.Error("the values were sorted in place")
	}
}

func TestTheTimeOfAFailedWriteCounts(t *testing.T) {
	if got := Percentile(Times([]Write{{0, s, false}, {0, 5 * s, true}}), 99.9); got != 5*s {
		t.Errorf("p99.9 is %s", got)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{1, 3, 3, 3}},
		{[]float64{9, 1, 5}, Spread{3, 5, 1, 9}},
		{[]float64{9, 1, 5, 6}, Spread{4, 5.5, 1, 9}},
	} {
		if got := SpreadOf(c.values); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.values, got, c.want)
		}
	}
}

// The fewest moves are found by trying all of them.
func TestTheFewestMovesAreTheFewest(t *testing.T) {
	for members := 1; members <= 5; members++ {
		for leader := range members {
			if got, want := MinimumMoves(members, leader, true), fewest(members-1, members, leader); got != want && members > 1 {
				t.Errorf("%d members, leader %d: %d moves, found %d", members, leader, got, want)
			}
			if got := MinimumMoves(members, leader, false); got != min(1, members-1) {
				t.Errorf("%d members, leader last: %d moves", members, got)
			}
		}
	}
}

// fewest restarts index, and all below it, with leadership where it is or moved
// to anybody else first.
func fewest(index, members, leader int) int {
	if index < 0 {
		return 0
	}
	best := members * members
	for next := range members {
		if next == index {
			continue // it would lead
		}
		cost := 1
		if next == leader {
			cost = 0
		}
		best = min(best, cost+fewest(index-1, members, next))
	}
	return best
}
