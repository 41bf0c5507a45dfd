package trigger

import (
	"hash/fnv"
	"math"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Cadence holds every interval of the trigger.
type Cadence struct {
	// Beat is how often an active set is asked about besides its own changes.
	Beat time.Duration
	// Gap is the least time between two requests for one set, so that a burst of changes gives one.
	Gap time.Duration
	// BlockedFirst, grown by BlockedFactor up to BlockedMost, is how often a blocked set is asked about.
	BlockedFirst, BlockedMost time.Duration
	BlockedFactor             float64
	// RetryFirst, doubled up to RetryMost, is how often a request is repeated that nobody has acknowledged.
	RetryFirst, RetryMost time.Duration
	// RetryAfterMost bounds what a sink may ask for with Retry-After, NotBeforeMost what a continuation may.
	RetryAfterMost, NotBeforeMost time.Duration
	// Waiting is how often a set asks for a place in the fleet besides being called.
	Waiting time.Duration
	// Sweep is how often every set is assessed from the cache although nothing has changed.
	Sweep time.Duration
	// Grace is how long a set that was let start holds its place in the fleet without being seen to roll.
	Grace time.Duration
}

// DefaultCadence is what production runs with.
func DefaultCadence() Cadence {
	return Cadence{
		Beat: 5 * time.Second, Gap: 250 * time.Millisecond,
		BlockedFirst: 2 * time.Second, BlockedFactor: 1.5, BlockedMost: time.Minute,
		RetryFirst: 500 * time.Millisecond, RetryMost: 10 * time.Second,
		RetryAfterMost: 5 * time.Minute, NotBeforeMost: 5 * time.Minute,
		Waiting: time.Minute, Sweep: 5 * time.Minute, Grace: time.Minute,
	}
}

const (
	// changeTries is how often a change of a halted or paused set is told while only a broker has answered: a broker's
	// 202 says that it took the event, not that the function saw it.
	changeTries = 3
	// patience is how many times in a row the function may say "nothing to do" about a set that looks active from here
	// before the heartbeat slows down.
	patience = 3
)

// Continuation is a follow-up event that waits for its time.
type Continuation struct {
	Event event.Event
	Seq   int64
	// Due is by our own clock.
	Due time.Time
}

// Record is what the trigger remembers of a set. All of it may be lost at any time: an empty record only means that
// the set is asked about once too often.
type Record struct {
	// Set is shared with the cache, and never written to; that of a set not yet seen is empty.
	Set    *SetView
	Assess Assessment
	// Since is when the set was first seen diverged, OpenSince when first seen open; zero if it is not.
	Since, OpenSince time.Time
	// Progress is when the sequence or the pods last changed.
	Progress time.Time
	// Asked is the fingerprint of the last request that was answered, AskedAt its time.
	Asked   string
	AskedAt time.Time
	// Repeats counts the answered requests for Asked; Verdicts how many of the last ones in a row the function itself
	// answered with "nothing to do"; Refused says that the last one was refused.
	Repeats, Verdicts int
	Refused           bool
	// Beat numbers the requests, answered or given up, so that no two have one id.
	Beat int64
	// Failures counts the tries of the present request; before RetryAt there is no other.
	Failures int
	RetryAt  time.Time
	// Pending is the continuation that waits, LastSeq the sequence of the last one that was delivered.
	Pending *Continuation
	LastSeq int64
	// Forced asks once whatever the cache says, because the cache is known to be behind.
	Forced bool
	// Queued is when the set began to wait for its turn in the fleet.
	Queued time.Time
	// LetStart is when the fleet limit let this set begin; zero if it did not, or if the set was seen rolling since.
	LetStart time.Time
	// Waiting says what the set waits for before it may start; empty if it does not wait.
	Waiting string
}

// Act is what to do about a set now.
type Act int

const (
	// Rest until After has passed, or until a change if After is zero.
	Rest Act = iota
	// Ask with a new request.
	Ask
	// Resend the pending continuation.
	Deliver
)

// Move is the outcome of a plan.
type Move struct {
	Act   Act
	After time.Duration
}

// plan decides what to do about a set. It is pure. A pending continuation counts as the heartbeat: there is no other
// request for the same fingerprint while it is due sooner.
func plan(r Record, now time.Time, c Cadence) Move {
	if wait := r.RetryAt.Sub(now); wait > 0 {
		return Move{After: wait}
	}
	if r.Pending != nil && !r.Pending.Due.After(now) {
		return Move{Act: Deliver}
	}
	due, isDue := dueAt(r, now, c)
	if isDue && !due.After(now) {
		return Move{Act: Ask}
	}
	if r.Pending != nil && (!isDue || r.Pending.Due.Before(due)) {
		due, isDue = r.Pending.Due, true
	}
	if !isDue {
		return Move{}
	}
	return Move{After: due.Sub(now)}
}

// dueAt is when the next request is due; false if none is.
func dueAt(r Record, now time.Time, c Cadence) (time.Time, bool) {
	if r.Forced {
		return now, true
	}
	if r.Assess.Pace == Never {
		return time.Time{}, false
	}
	if r.Assess.Fingerprint != r.Asked {
		return r.AskedAt.Add(c.Gap), true
	}
	switch {
	case r.Assess.Pace == OnChange:
		if r.Verdicts > 0 || r.Refused || r.Repeats >= changeTries {
			return time.Time{}, false
		}
		return r.AskedAt.Add(c.blocked(r.Repeats)), true
	case r.Refused, r.Assess.Pace == Backoff:
		return r.AskedAt.Add(c.blocked(r.Repeats)), true
	case r.Verdicts > patience:
		return r.AskedAt.Add(max(c.Beat, c.blocked(r.Verdicts))), true
	default:
		return r.AskedAt.Add(spread(r.Set.Key(), c.Beat)), true
	}
}

// blocked is the wait after the n-th request about a blocked set, n from 1.
func (c Cadence) blocked(n int) time.Duration {
	return grow(c.BlockedFirst, c.BlockedMost, c.BlockedFactor, n)
}

// retry is the wait after the n-th failed try, n from 1.
func (c Cadence) retry(n int) time.Duration { return grow(c.RetryFirst, c.RetryMost, 2, n) }

func grow(first, most time.Duration, factor float64, n int) time.Duration {
	d := float64(first) * math.Pow(factor, float64(max(n, 1)-1))
	if d > float64(most) {
		return most
	}
	return time.Duration(d)
}

// spread gives each set its own beat, up to a tenth shorter than d, so that many sets do not call in step. It depends
// on nothing but the name, hence the same plan for the same state.
func spread(key string, d time.Duration) time.Duration {
	return d - share(key, d/10)
}

// share is a part of d that depends on the name only.
func share(key string, d time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return time.Duration(float64(d) * float64(h.Sum32()) / float64(math.MaxUint32))
}
