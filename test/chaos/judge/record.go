// Package judge says whether a round kept the invariants. It is a pure function
// of what the observer, the writer, the proxies and the faults have written
// down, and of the plan. It shares no code with the product's decisions.
package judge

import (
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// Incident is a fault as it really was.
type Incident struct {
	Fault  plan.Fault
	Member int // index of the member it befell; None if none
	From   time.Time
	To     time.Time // healed; zero while it lasts
	UID    string    // of the pod that was evicted
	Note   string    // what came of it
}

// None is no member.
const None = -1

// Record is everything that is known of a round.
type Record struct {
	Plan      plan.Round
	Incidents []Incident // those that came about

	Report  observer.Report
	History observer.History

	Started time.Time // the template was changed
	Healed  time.Time // the last fault was over
	Settled time.Time // converged and locked for the last time; zero if never
	Bound   time.Duration

	Halts   []Halt
	Resumed int // times that a person resumed

	Quiet Quiet

	Acked      int
	WriterSays string // why acknowledged writes are not all there; "" if they are
}

// Halt is one halt that was seen.
type Halt struct {
	At                  time.Time
	ID, Reason, Message string
}

// Quiet is what happened after the end, when nothing should.
type Quiet struct {
	From, To time.Time
	Changes  []string // of the set, by anybody
	Writes   []string // by the function
	Events   []string // by the trigger
}

// Finding is a broken invariant.
type Finding struct {
	Invariant string // I1 to I10, or Writes
	At        time.Time
	Text      string
}

// Explanation is an election that nobody announced and the fault that explains
// it.
type Explanation struct {
	Election observer.Election
	By       string
}

// Verdict is the judgement of a round.
type Verdict struct {
	Findings  []Finding
	Explained []Explanation
	Planned   int // elections that the product announced
	Allowed   int // the most that I9 allows
}

func (v *Verdict) find(invariant string, at time.Time, text string) {
	v.Findings = append(v.Findings, Finding{invariant, at, text})
}

// Judge judges a round.
func Judge(r Record) Verdict {
	var v Verdict
	c := newCase(r)
	c.givenUp(&v)
	c.downByUs(&v)
	c.openings(&v)
	c.elections(&v)
	c.moves(&v)
	c.markings(&v)
	c.ending(&v)
	c.quiet(&v)
	if r.WriterSays != "" {
		v.find("Writes", r.Report.To, r.WriterSays)
	}
	return v
}
