// Package plan says what a round of chaos consists of. It is a pure function of
// the seed and the round's number, so that any round can be made again.
package plan

import "time"

// Lanes is how many sets there are at once at most: the rounds of a wave. Sets
// of one lane follow each other.
const Lanes = 5

// Kept is how many rounds of a lane are made with one set.
const Kept = 5

// Shape of a set.
type Shape struct {
	Members  int // 1 is rolled with allowDowntime
	OnDelete bool
	TLS      bool
}

// Round is one roll and what is to befall it.
type Round struct {
	Seed   int64
	Number int
	Shape  Shape
	First  bool // a new set is made for it
	Leader int  // index of the member that leads when it begins
	Faults []Fault
	// Shared befall all rounds of the wave, because there is one control plane.
	Shared []Fault
}

// Wave is the number of the wave that the round belongs to.
func (r Round) Wave() int { return r.Number / Lanes }

// Lane is the number of the lane that the round belongs to.
func (r Round) Lane() int { return r.Number % Lanes }

// Kind is what befalls a round.
type Kind string

// The kinds, by what they touch.
const (
	KillFunction   Kind = "kill-function"    // SIGKILL at any moment
	KillAt         Kind = "kill-at"          // SIGKILL exactly before or after a write or a call
	MoreFunctions  Kind = "more-functions"   // two or three functions, each with its own trigger
	FreezeFunction Kind = "freeze-function"  // SIGSTOP, then SIGCONT with a view of the past
	Duplicate      Kind = "duplicate-events" // every event arrives several times at once
	Delay          Kind = "delay-events"     // every event arrives late
	Reorder        Kind = "reorder-events"   // every event arrives twice, each copy after a delay of its own
	Lose           Kind = "lose-events"      // events are acknowledged and dropped
	KillTrigger    Kind = "restart-trigger"

	KillAPIServer     Kind = "restart-apiserver"
	StopControllers   Kind = "stop-controllers"
	FreezeControllers Kind = "freeze-controllers" // status writes lag
	StaleReads        Kind = "stale-reads"        // the function's GETs are answered from the past
	LoseResponse      Kind = "lose-response"      // a write is applied, and its answer lost

	Freeze     Kind = "freeze-member" // SIGSTOP
	Cut        Kind = "cut-member"    // no packet gets in or out, but the node's own probes
	Slow       Kind = "slow-member"   // a share of all packets is lost
	MoveLeader Kind = "move-leader"   // somebody else moves leadership
	Evict      Kind = "evict-pod"     // through the eviction API, under a PodDisruptionBudget

	ChangeTemplate Kind = "change-template"
	ResetPartition Kind = "reset-partition" // a GitOps loop puts partition back
	Pause          Kind = "pause"           // and resume
	Rotate         Kind = "rotate-certificate"
)

// Kinds are all of them, in the order of the tables.
var Kinds = []Kind{KillFunction, KillAt, MoreFunctions, FreezeFunction, Duplicate, Delay, Reorder, Lose, KillTrigger,
	KillAPIServer, StopControllers, FreezeControllers, StaleReads, LoseResponse,
	Freeze, Cut, Slow, MoveLeader, Evict, ChangeTemplate, ResetPartition, Pause, Rotate}

// Fault is one thing that befalls a round.
type Fault struct {
	Kind  Kind
	When  Moment
	For   time.Duration // until it is healed; 0 where there is nothing to heal
	Whom  int           // index of the member, or Leader
	Count int           // copies, functions, responses, per mille of packets
	Every time.Duration // of a loop, or the longest delay, or the age of answers, or how long an eviction is asked for
	At    string        // checkpoint
}

// Leader stands for whichever member leads at that moment.
const Leader = -1

// Anchor is what a moment is counted from.
type Anchor string

// The anchors. An anchor that never comes takes its fault with it.
const (
	Start    Anchor = "start"    // the template has changed
	Released Anchor = "released" // the n-th pod is given up
	Replaced Anchor = "replaced" // the n-th successor exists
	Moving   Anchor = "moving"   // the n-th leader move is announced
)

// Moment is when a fault begins.
type Moment struct {
	Anchor Anchor
	Nth    int // from 1; 0 for Start
	After  time.Duration
}

// Has says that the round has a fault of this kind of its own or shared.
func (r Round) Has(kinds ...Kind) bool {
	for _, list := range [][]Fault{r.Faults, r.Shared} {
		for _, f := range list {
			for _, k := range kinds {
				if f.Kind == k {
					return true
				}
			}
		}
	}
	return false
}

// MayHalt says that halting is a right answer to what befalls the round, so
// that a person may have to resume it.
//
// Somebody who keeps putting partition back is told so by a halt
// (PartitionContention), and it may cost a pod its attempts. All else heals long
// before the deadlines of the step that it disturbs.
func (r Round) MayHalt() bool { return r.Has(ResetPartition) }
