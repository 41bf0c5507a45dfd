package roll

import (
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Outcome is how a look at the set ends.
type Outcome uint8

// The outcomes. The zero value does nothing.
const (
	Done    Outcome = iota // nothing to do; nobody needs to ask again
	Waiting                // something of ours is under way
	Stepped                // a step was taken; the chain goes on
	Blocked                // a precondition is missing; it clears by itself
	Halted                 // our own step did not come out right
	Converged
)

// String names the outcome.
func (o Outcome) String() string {
	return [...]string{"Done", "Waiting", "Stepped", "Blocked", "Halted", "Converged"}[o]
}

// EffectKind is the call made after the announcing write has won.
type EffectKind uint8

// The effects.
const (
	NoEffect EffectKind = iota
	MoveLeader
	DeletePod
)

// Effect is a call outside the set's own object. It is made only by the
// function whose announcing write was accepted, so of two functions only one
// makes it.
type Effect struct {
	Kind   EffectKind
	Index  int      // whose pod is deleted, or whose member hands leadership over
	PodUID string   // precondition of the delete
	From   guard.ID // the leader that is asked
	To     guard.ID // the member that shall lead
}

// Write is the one fenced write of a step. It replaces status and record as a
// whole and is made with the resourceVersion of the observation.
type Write struct {
	Partition    int
	SetPartition bool
	Status       Status
	Record       Record
	ClearResume  bool // remove the user's resume annotation: it was obeyed
	HandBack     bool // remove our claim on partition from managedFields
}

// Decision is what to do now: at most one write, at most one effect after it.
type Decision struct {
	Rule    string // the rule that matched, for logs and transcripts
	Outcome Outcome
	Step    StepKind
	Reason  Reason
	Message string
	Victim  int // -1 when no pod is meant
	Verdict guard.Verdict

	Write  *Write
	Effect Effect
	After  time.Duration // look again after this; 0 leaves it to the watcher
	Wants  Wants         // read these and decide again
}

// Disruption ranks how much a decision takes away from the cluster: nothing,
// a leader, or a member. The caution property compares decisions by it.
func (d Decision) Disruption() int {
	switch {
	case d.Effect.Kind == DeletePod, d.Step == StepRelease, d.Step == StepRecover, d.Step == StepDelete:
		return 2
	case d.Effect.Kind == MoveLeader:
		return 1
	}
	return 0
}

// TakesBack says that the decision locks a set whose released pod nobody had
// replaced when the pods were read. Whoever writes it reads that pod once more:
// to lock while it goes would bring the old revision back.
func (d Decision) TakesBack() bool { return d.Step == StepLock && d.Reason == ReasonDisarmed }
