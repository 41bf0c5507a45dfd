package roll

import (
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Phase is what the set's phase annotation says to people and tools.
type Phase string

// The phases.
const (
	PhaseConverged Phase = "Converged"
	PhaseRolling   Phase = "Rolling"
	PhaseBlocked   Phase = "Blocked"
	PhaseHalted    Phase = "Halted"
	PhasePaused    Phase = "Paused"
)

// Status is what the set's annotations tell about the roll. It is written as
// a whole, so that no part of it outlives what it spoke about.
type Status struct {
	Phase             Phase
	ConvergedRevision string // converged and locked, both
	ConvergedToken    string // the release token that has converged
	HaltedRevision    string
	HaltID            string
	Reason            Reason
	Message           string // for people; never compared
}

// same compares what tools act on. The message carries measured values that
// change at every look, and a look that changes nothing writes nothing.
func (s Status) same(t Status) bool {
	s.Message, t.Message = "", ""
	return s == t
}

// AskKind says what an event asked for.
type AskKind uint8

// The kinds of event that reach the decision.
const (
	Look     AskKind = iota // look at this set
	Continue                // take the next step of the chain with this seq
	Resume                  // clear the halt with this id
)

// Ask is what the event said. It is a hint: nothing in it is believed beyond
// which chain or halt it speaks of.
type Ask struct {
	Kind   AskKind
	Seq    int64
	HaltID string
}

// ConfigProblem is why the configuration or the credentials it names could
// not be used.
type ConfigProblem struct {
	Reason  Reason
	Message string
}

// Observed is everything a decision is made from: one live reading of the
// set, its pods and its members, and what the event asked.
type Observed struct {
	guard.Snapshot

	Ask    Ask
	Record Record // the zero Record when there is none or it is unreadable
	Status Status

	Paused      bool
	Release     string // the user's release token
	ResumeToken string // the user's resume annotation, a halt id
	Config      *ConfigProblem

	// Into is how far the second of Now has gone by, as far as our own clock can
	// tell; 0 when Now is finer than a second. It is a hint for when to look again
	// and changes nothing else: the two clocks need not agree.
	Into time.Duration

	ClaimsPartition bool         // our field manager owns spec...partition
	OtherManagers   []string     // other field managers that own it
	MayDelete       guard.Answer // the right to delete pods
}

// Wants names what a decision needed and the observation lacked. The caller
// reads it and decides again.
type Wants struct {
	Members   bool
	MayDelete bool
}

// Any says that something is wanted.
func (w Wants) Any() bool { return w.Members || w.MayDelete }
