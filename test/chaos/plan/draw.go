package plan

import (
	"math/rand/v2"
	"time"
)

// What the random sources of a plan are for; each gets its own, so that a change
// to one leaves the others as they were.
const (
	forShape = iota + 1
	forRound
	forWave
)

func source(seed int64, what, number int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), uint64(what)<<48|uint64(number)))
}

// Make is the plan of one round, from 0.
func Make(seed int64, number int) Round {
	r := Round{Seed: seed, Number: number}
	generation := r.Wave() / Kept
	r.First = r.Wave()%Kept == 0
	r.Shape = shape(source(seed, forShape, generation*Lanes+r.Lane()))
	random := source(seed, forRound, number)
	r.Leader = random.IntN(r.Shape.Members)
	for range 2 + random.IntN(4) {
		r.add(one(random, r.Shape))
	}
	if wave := source(seed, forWave, r.Wave()); wave.IntN(3) == 0 {
		r.Shared = []Fault{shared(wave)}
	}
	return r
}

// add leaves out what cannot be told apart from a fault of the round's already:
// two of a kind at a time, or two members ill at once, which would cost the
// quorum by the test's doing alone.
func (r *Round) add(f Fault) {
	if r.Has(f.Kind) || (ill(f.Kind) && r.Has(Freeze, Cut, Slow)) {
		return
	}
	r.Faults = append(r.Faults, f)
}

func ill(k Kind) bool { return k == Freeze || k == Cut || k == Slow }

func shape(r *rand.Rand) Shape {
	s := Shape{Members: []int{1, 3, 3, 3, 3, 3, 3, 5}[r.IntN(8)]}
	s.OnDelete = r.IntN(4) == 0
	s.TLS = r.IntN(3) == 0
	return s
}

// solo are the kinds that mean something for a single member. Its restart
// interrupts everything, so that there is nobody to move to or to cut off from.
var solo = []Kind{KillFunction, KillAt, MoreFunctions, FreezeFunction, Duplicate, Delay, Reorder, Lose, KillTrigger,
	StaleReads, LoseResponse, Freeze, ChangeTemplate, Pause}

var several = append([]Kind{Cut, Slow, MoveLeader, Evict}, solo...)

func one(r *rand.Rand, s Shape) Fault {
	kinds := append([]Kind{}, solo...)
	if s.Members > 1 {
		kinds = append([]Kind{}, several...)
	}
	if !s.OnDelete { // such a set has no partition
		kinds = append(kinds, ResetPartition)
	}
	if s.TLS {
		kinds = append(kinds, Rotate, Rotate) // it concerns a third of the sets
	}
	f := Fault{Kind: kinds[r.IntN(len(kinds))], When: moment(r, s.Members)}
	f.fill(r, s.Members)
	return f
}

func moment(r *rand.Rand, members int) Moment {
	after := time.Duration(r.IntN(2500)) * time.Millisecond
	switch r.IntN(6) {
	case 0, 1:
		return Moment{Anchor: Start, After: time.Duration(r.IntN(9000)) * time.Millisecond}
	case 2, 3:
		return Moment{Released, 1 + r.IntN(members), after / 10}
	case 4:
		return Moment{Replaced, 1 + r.IntN(members), after}
	}
	if members == 1 {
		return Moment{Anchor: Start, After: after}
	}
	return Moment{Moving, 1, after / 25}
}

// Checkpoints of the function, right before and after its effects.
var Checkpoints = []string{"before-write", "after-write", "before-effect", "after-effect"}

func (f *Fault) fill(r *rand.Rand, members int) {
	f.Whom = r.IntN(members+1) - 1 // Leader as often as any one
	lasting := time.Duration(1000+r.IntN(4000)) * time.Millisecond
	switch f.Kind {
	case KillAt:
		f.At, f.For = Checkpoints[r.IntN(len(Checkpoints))], 10*time.Second
	case MoreFunctions:
		f.Count, f.For = 2+r.IntN(2), 4*lasting
	case Duplicate:
		f.Count, f.For = 2+r.IntN(3), 3*lasting
	case Delay, Reorder:
		f.Every, f.For = time.Duration(200+r.IntN(1300))*time.Millisecond, 2*lasting
	case Lose:
		f.Count, f.For = []int{300, 500, 1000}[r.IntN(3)], 2*lasting
	case StaleReads:
		f.Every, f.For = time.Duration(500+r.IntN(4500))*time.Millisecond, lasting
	case LoseResponse:
		f.Count, f.For = 1+r.IntN(2), 8*time.Second
	case Slow:
		f.Count, f.For = 50+r.IntN(250), lasting
	case ResetPartition:
		f.Every, f.For = []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second}[r.IntN(3)], 2*lasting+5*time.Second
	case Freeze, Cut:
		f.For = 2 * lasting // long enough that a gate can be blamed for not having seen it
	case FreezeFunction, Pause:
		f.For = lasting
	case Evict:
		f.Every = lasting // it is asked for until then
	case MoveLeader:
		f.Whom = r.IntN(members)
	}
}

func shared(r *rand.Rand) Fault {
	f := Fault{Kind: []Kind{KillAPIServer, StopControllers, FreezeControllers}[r.IntN(3)],
		When: Moment{Anchor: Start, After: time.Duration(500+r.IntN(7000)) * time.Millisecond}}
	if f.Kind != KillAPIServer {
		f.For = time.Duration(1000+r.IntN(5000)) * time.Millisecond
	}
	return f
}
