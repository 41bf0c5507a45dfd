package roll

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// StepKind is what a step does to the set.
type StepKind string

// The kinds of step. Only those that Record.Step may hold are in flight for
// longer than the write that makes them.
const (
	NoStep       StepKind = ""
	StepAdopt    StepKind = "adopt"    // took charge of a set found open with a pod away
	StepRelease  StepKind = "release"  // partition lowered to the victim
	StepRecover  StepKind = "recover"  // released, and its broken pod deleted by us
	StepDelete   StepKind = "delete"   // pod deleted by us, partition untouched
	StepMove     StepKind = "move"     // leader move announced
	StepLock     StepKind = "lock"     // partition raised
	StepConverge StepKind = "converge" // marked converged
	StepHandBack StepKind = "handback" // gave up our claim on partition
	StepResume   StepKind = "resume"   // cleared a halt
	StepNote     StepKind = "note"     // status only
)

// Step is the step in flight.
type Step struct {
	Kind      StepKind  `json:"kind"`
	Index     int       `json:"index"`
	PodUID    string    `json:"podUID,omitempty"`
	Target    string    `json:"target,omitempty"`
	Partition int       `json:"partition,omitempty"`
	Started   time.Time `json:"started"`
	Locked    bool      `json:"locked,omitempty"` // we have locked since

	From    guard.ID `json:"from,omitempty"`
	To      guard.ID `json:"to,omitempty"`
	ToIndex int      `json:"toIndex,omitempty"`

	Progress   uint64    `json:"progress,omitempty"` // applied index when last found moving
	ProgressAt time.Time `json:"progressAt,omitzero"`
}

// replaces says that the step takes a pod away.
func (s *Step) replaces() bool {
	return s != nil && (s.Kind == StepRelease || s.Kind == StepRecover || s.Kind == StepDelete)
}

// Seen is a target and when it was first seen.
type Seen struct {
	Target string    `json:"target"`
	At     time.Time `json:"at"`
}

// PodRecord is what the roll did to one pod.
type PodRecord struct {
	Began   time.Time `json:"began"`
	Ready   time.Time `json:"ready,omitzero"`
	Settled time.Time `json:"settled,omitzero"`
}

// Receipt sums up a finished roll.
type Receipt struct {
	Target    string            `json:"target"`
	Started   time.Time         `json:"started"`
	Finished  time.Time         `json:"finished"`
	Steps     int64             `json:"steps"` // writes, the one that marked convergence included
	Moves     int               `json:"moves"`
	Unplanned int               `json:"unplannedElections"`
	FirstTerm uint64            `json:"firstTerm,omitempty"`
	LastTerm  uint64            `json:"lastTerm,omitempty"`
	WorstLag  uint64            `json:"worstLag,omitempty"`
	Attempts  map[int]int       `json:"attempts,omitempty"`
	Pods      map[int]PodRecord `json:"pods,omitempty"`
	Overrides []string          `json:"overrides,omitempty"`
}

// Record is the machine state that cannot be derived from the cluster. It
// lives in one annotation of the set and speaks only about the set with its
// UID and the roll to its Target.
type Record struct {
	UID        string    `json:"uid,omitempty"`
	Seq        int64     `json:"seq"`
	FirstSeq   int64     `json:"firstSeq,omitempty"` // before the first write of this roll
	Target     string    `json:"target,omitempty"`
	Generation int64     `json:"generation,omitempty"` // as our last write left it
	Started    time.Time `json:"started,omitzero"`
	Done       bool      `json:"done,omitempty"`
	Step       *Step     `json:"step,omitempty"`

	Cluster     guard.ID         `json:"cluster,omitempty"`
	Members     map[int]guard.ID `json:"members,omitempty"`
	FirstTerm   uint64           `json:"firstTerm,omitempty"`
	Term        uint64           `json:"term,omitempty"` // expected: first term and our moves, plus what was already counted
	Moves       int              `json:"moves,omitempty"`
	MovedAt     time.Time        `json:"movedAt,omitzero"`
	Unplanned   int              `json:"unplannedElections,omitempty"`
	UnplannedAt time.Time        `json:"unplannedAt,omitzero"`
	WorstLag    uint64           `json:"worstLag,omitempty"`

	Attempts   map[int]int       `json:"attempts,omitempty"`
	MoveTries  map[string]int    `json:"moveTries,omitempty"` // by candidate id
	Contention int               `json:"contention,omitempty"`
	Recent     []Seen            `json:"recent,omitempty"`
	BlockedBy  []string          `json:"blockedBy,omitempty"`
	Overrides  []string          `json:"overrides,omitempty"`
	Pods       map[int]PodRecord `json:"pods,omitempty"`
	Last       *Receipt          `json:"last,omitempty"`
}

// clone copies the record so that no decision changes what was observed.
func (r Record) clone() Record {
	if r.Step != nil {
		step := *r.Step
		r.Step = &step
	}
	r.Members = copied(r.Members)
	r.Attempts = copied(r.Attempts)
	r.MoveTries = copied(r.MoveTries)
	r.Pods = copied(r.Pods)
	r.Recent = slices.Clone(r.Recent)
	r.BlockedBy = slices.Clone(r.BlockedBy)
	r.Overrides = slices.Clone(r.Overrides)
	return r
}

func copied[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// begun gives the record of the roll to the set's present target: this one
// if it speaks of it, else a new one that carries over only what must outlive
// a roll: the sequence (so that old chains die), a step still in flight (its
// pod is still away), the term ledger of an unfinished roll, the abandoned
// targets, and the last receipt.
func (r Record) begun(o Observed) Record {
	if r.UID != o.Set.UID {
		r = Record{}
	}
	target := o.Set.UpdateRevision
	r = r.clone()
	if target == "" || (r.Target == target && !(r.Done && anyOutdated(o))) {
		return r
	}
	next := Record{UID: o.Set.UID, Seq: r.Seq, FirstSeq: r.Seq, Target: target, Started: o.Now, Last: r.Last}.clone()
	if !r.Done {
		next.Step, next.Recent = r.Step, recentOnly(r.Recent, o.Now)
		next.Cluster, next.Members = r.Cluster, r.Members
		next.FirstTerm, next.Term, next.UnplannedAt = r.Term, r.Term, r.UnplannedAt
	}
	next.Recent = newest(append(next.Recent, Seen{target, o.Now}), o.Limits.RevisionsPerHour+1)
	return next
}

func recentOnly(seen []Seen, now time.Time) []Seen {
	return slices.DeleteFunc(slices.Clone(seen), func(s Seen) bool { return now.Sub(s.At) > time.Hour })
}

// newest keeps the last n: one more than are allowed tells that there were too
// many, and what rewrites the template may do so every second.
func newest(seen []Seen, n int) []Seen { return seen[max(0, len(seen)-max(1, n)):] }

func anyOutdated(o Observed) bool {
	for i := range o.Set.Indexes() {
		if p := o.Pod(i); p.Exists && p.Revision != o.Set.UpdateRevision {
			return true
		}
	}
	return false
}

// receipt sums up the roll that has just converged.
func (r Record) receipt(now time.Time) *Receipt {
	return &Receipt{
		Target: r.Target, Started: r.Started, Finished: now, Steps: r.Seq + 1 - r.FirstSeq, Moves: r.Moves, Unplanned: r.Unplanned,
		FirstTerm: r.FirstTerm, LastTerm: r.Term, WorstLag: r.WorstLag,
		Attempts: r.Attempts, Pods: r.Pods, Overrides: r.Overrides,
	}
}

// haltID names a halt: what it is about and the write that made it.
func (r Record) haltID(target string) string {
	return target + "-" + strconv.FormatInt(r.Seq, 10)
}
