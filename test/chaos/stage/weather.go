package stage

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/relay"
)

// Weather is what becomes of events at present.
type Weather struct {
	mu     sync.Mutex
	now    Conditions
	random *rand.Rand
}

// Conditions are faults of events. The zero value is fair weather.
type Conditions struct {
	Copies int           // at the same time
	Delay  time.Duration // every event is this late
	Spread time.Duration // and up to this much more, each for itself, with an echo after as much again
	Loss   int           // of 1000 events
}

// Change sets the weather by its own random source.
func (w *Weather) Change(seed uint64, change func(*Conditions)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.random = rand.New(rand.NewPCG(seed, 1))
	change(&w.now)
}

// Fate is the relay's policy.
func (w *Weather) Fate(int) relay.Fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := relay.Fate{Copies: w.now.Copies, Delay: w.now.Delay}
	if w.now.Spread > 0 {
		f.Delay += time.Duration(w.random.Int64N(int64(w.now.Spread)))
		f.Echo = time.Duration(1 + w.random.Int64N(int64(w.now.Spread)))
	}
	f.Lost = w.now.Loss > 0 && w.random.IntN(1000) < w.now.Loss
	return f
}
