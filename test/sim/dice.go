package sim

import "math/rand/v2"

// dice is the only source of chance: one seed, one walk.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice {
	return dice{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

// chance is true with probability p. It draws nothing when p is zero, so that
// a calm walk is calm for one reason only.
func (d dice) chance(p float64) bool { return p > 0 && d.Float64() < p }

// between is uniform over lo..hi, both included.
func (d dice) between(lo, hi int) int {
	if hi <= lo {
		return lo
	}
	return lo + d.IntN(hi-lo+1)
}
