// Package ledger keeps what was measured: one row per run, written as soon as
// the run has ended, so that a measurement can be made in several sittings.
package ledger

import (
	"time"

	"github.com/etcdroll/etcdroll/test/bench/figures"
)

// Key says which run it is. Number counts from 0 for each variant and grace.
type Key struct {
	Variant string
	Grace   string
	Number  int
}

// Setting is what must be equal for runs to be compared. Commit and Machine may
// differ between sittings; the page says so then.
type Setting struct {
	Config  string // load, soak, versions
	Machine string
	Commit  string
}

// Finished is the outcome of a run that came to its end.
const Finished = "finished"

// Run is one row. Times are since the template change.
type Run struct {
	Key
	Setting
	Began   time.Time
	Leader  int    // index of the member that led at the start
	Outcome string // Finished, or what stood in the way

	Unplanned int // elections that nobody had announced
	Moves     int // announced leader moves
	Minimum   int // the fewest moves for this start and order

	Sent, Failed int
	Errors       []Count       // what the failed ones came to
	Gap          time.Duration // longest time without an acknowledged write
	GapFrom      time.Duration
	P999         time.Duration // of all writes; a failed one counts with the time until it was given up
	Degraded     time.Duration // with fewer than all members
	MostDown     int           // members out of reach at one time

	Wall     time.Duration // until the variant says that it has finished
	Healthy  time.Duration // until every pod is replaced and all members answer and agree
	Soaks    time.Duration // configured soaks after restarts, in all
	Rests    time.Duration // configured rests after leader moves, in all
	Restarts []figures.Restart

	Requests, Writes  int // of the variant's identity to the API server
	Function, Trigger time.Duration

	Elections []Election
}

// Count is how often a write ended with an error.
type Count struct {
	Error string
	N     int
}

// Election is a rise of the term.
type Election struct {
	At      time.Duration
	Planned bool
}

// Floor is the physical floor of the run.
func (r Run) Floor() time.Duration { return figures.Floor(r.Restarts, r.Soaks+r.Rests) }

// OverFloor is the wall time in floors; 0 where there is no floor.
func (r Run) OverFloor() float64 { return figures.Ratio(r.Wall, r.Floor()) }

// OverRestless is the wall time in floors that do not count rests after moves.
func (r Run) OverRestless() float64 {
	return figures.Ratio(r.Wall, figures.Floor(r.Restarts, r.Soaks))
}

// CPU is what both processes of etcdroll used.
func (r Run) CPU() time.Duration { return r.Function + r.Trigger }
