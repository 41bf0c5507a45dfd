package trigger

import (
	"cmp"
	"fmt"
	"time"
)

// Contender is a set as the fleet limit sees it.
type Contender struct {
	Key            string
	Wave, Priority int
	// Since is when the set began to wait for its turn.
	Since time.Time
	// Diverged sets are unfinished; Disruptive ones have pods that a roll would replace, or may have: while the status
	// lags, nobody can tell.
	Diverged, Disruptive bool
	// Rolling sets have begun and are never held back: they must come to their end and lock.
	Rolling bool
	// LetStart sets were let begin and have not been seen rolling yet.
	LetStart bool
	// Standing sets are blocked, halted, paused or refused; they keep no other set of their wave from starting.
	Standing bool
	// Waits says that the set was told to wait.
	Waits bool
	// Approved says that a person has agreed to this very revision.
	Approved bool
}

func contender(r Record) Contender {
	return Contender{
		Key: r.Set.Key(), Wave: r.Set.Wave, Priority: r.Set.Priority, Since: r.Queued,
		Diverged: r.Assess.Diverged, Rolling: r.Assess.Rolling, LetStart: !r.LetStart.IsZero(),
		Disruptive: r.Assess.Outdated > 0 || r.Assess.Reason == BecauseStatusIsStale,
		Standing: r.Assess.State == Blocked || r.Assess.State == Halted || r.Assess.State == Paused ||
			r.Refused || r.Verdicts > 0,
		Waits:    r.Waiting != "",
		Approved: r.Set.Approved != "" && r.Set.Approved == r.Set.UpdateRevision,
	}
}

// needsPlace is false for a set that cannot disrupt anything by being asked about, and for one that has begun already.
func needsPlace(c Contender) bool { return c.Disruptive && !c.Rolling && !c.LetStart }

// mayStart decides whether the contender key may begin a roll, given the whole fleet. It returns what the set waits
// for, or "" if it may start. It is pure, and the order of fleet does not matter.
//
// Lower waves must be finished first, halted and blocked sets included: a first wave that did not come out right keeps
// the others waiting. Within a wave the order is priority, then the oldest divergence, then the name. limit bounds how
// many roll at once; 0 is no bound.
func mayStart(key string, fleet []Contender, limit int, needApproval bool) string {
	self, ok := find(key, fleet)
	if !ok || !needsPlace(self) {
		return ""
	}
	if needApproval && !self.Approved {
		return "approval of its target revision"
	}
	for _, other := range fleet {
		if other.Diverged && other.Wave < self.Wave {
			return fmt.Sprintf("wave %d", other.Wave)
		}
	}
	if limit <= 0 {
		return ""
	}
	taken, ahead := 0, 0
	for _, other := range fleet {
		switch {
		case other.Key == key:
		case other.Rolling || other.LetStart:
			taken++
		case needsPlace(other) && !other.Standing && (!needApproval || other.Approved) && before(other, self):
			ahead++
		}
	}
	if taken+ahead >= limit {
		return fmt.Sprintf("a free place: %d of %d are rolling", taken, limit)
	}
	return ""
}

func find(key string, fleet []Contender) (Contender, bool) {
	for _, c := range fleet {
		if c.Key == key {
			return c, true
		}
	}
	return Contender{}, false
}

func before(a, b Contender) bool { return inOrder(a, b) < 0 }

func inOrder(a, b Contender) int {
	return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(b.Priority, a.Priority), a.Since.Compare(b.Since),
		cmp.Compare(a.Key, b.Key))
}
