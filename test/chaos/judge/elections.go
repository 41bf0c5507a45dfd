package judge

import (
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// elections: every one that was not announced must have a fault that explains
// it, by which member it was done to and when. A fault of a follower explains
// nothing: with PreVote it cannot raise the term when it is back.
func (c *caseFile) elections(v *Verdict) {
	used := map[int]bool{}
	for _, e := range c.Report.Elections {
		if e.Planned {
			v.Planned++
			if e.To-e.From == 1 {
				continue
			}
		}
		by := c.explain(e, used)
		if by == "" {
			v.find("Elections", e.At, fmt.Sprintf("the term rose from %d to %d, from member %s to member %s, and no fault explains it",
				e.From, e.To, c.name(e.Loser), c.name(e.Winner)))
			continue
		}
		v.Explained = append(v.Explained, Explanation{e, by})
	}
}

func (c *caseFile) name(id uint64) string {
	if index, ok := c.members[id]; ok {
		return fmt.Sprint(index)
	}
	return "unknown"
}

// How long after a fault its consequences may come.
const (
	// A move that was asked for: the call itself has 5 s.
	moveTakes = 2 * time.Second
	// The election timeout is 1 s, and twice that at most; a vote may be split.
	electionTakes = 4 * time.Second
	// A pod is Ready before its member has caught up and votes.
	joinTakes = time.Second
)

func (c *caseFile) explain(e observer.Election, used map[int]bool) string {
	for n, i := range c.Incidents {
		why := ""
		switch i.Fault.Kind {
		case plan.MoveLeader:
			if !used[n] && c.is(e.Winner, i.Member) && c.within(e.At, i, moveTakes) {
				used[n], why = true, "asked for"
			}
		case plan.Freeze, plan.Cut, plan.Slow:
			why = c.byIllness(e, i)
		case plan.Evict:
			why = c.byEviction(e, i)
		}
		if why != "" {
			return fmt.Sprintf("%s member %d (%s-%s): %s", i.Fault.Kind, i.Member, clock(i.From), clock(c.until(i)), why)
		}
	}
	if c.ledWhileGivenUp(e) {
		return "an election that was not ours had made it lead when its pod was given up already"
	}
	if c.Plan.Shape.Members == 1 && c.restarting(e.At) {
		return "a single voter elects itself when it has restarted"
	}
	return ""
}

// byEviction: the leader was ended; or a pod was evicted beside one that was away
// already, which costs the quorum until one of them is back. The eviction API
// grants that while the disruption controller is frozen or has not seen the other
// pod go.
func (c *caseFile) byEviction(e observer.Election, i Incident) string {
	switch {
	case i.UID == "":
		return ""
	case c.lost(e, i.Member) && c.within(e.At, i, electionTakes+c.grace(i)):
		return "it led and was ended"
	case c.within(e.At, i, electionTakes+c.absence(i)) && c.costsQuorum(i, e.At):
		return noQuorum
	}
	return ""
}

// ledWhileGivenUp says that the loser came to lead by an election that nobody
// announced, which needs an explanation of its own, while its pod was going away.
// It takes leadership along, and nobody could have moved it before.
func (c *caseFile) ledWhileGivenUp(e observer.Election) bool {
	for _, won := range c.Report.Elections {
		if won.Planned || won.To != e.From {
			continue
		}
		for _, p := range c.Report.Replaced {
			if c.is(won.Winner, p.Index) && p.Began.Before(won.At) && (p.Back.IsZero() || p.Back.After(e.At)) {
				return true
			}
		}
	}
	return false
}

// absence is how long it took until the evicted pod's successor was up.
func (c *caseFile) absence(i Incident) time.Duration {
	for _, p := range c.Report.Replaced {
		if p.Index == i.Member && !p.Began.Before(i.From) {
			if p.Back.IsZero() {
				return c.Report.To.Sub(i.From)
			}
			return p.Back.Sub(i.From)
		}
	}
	return 0
}

const noQuorum = "no quorum was left beside the pod that was away"

// costsQuorum says that with what was away anyway too few members were left.
func (c *caseFile) costsQuorum(i Incident, until time.Time) bool {
	n := c.Plan.Shape.Members
	return 1+c.awayBeside(i.Member, i.From, until) > n-quorum(n)
}

// grace is how long an evicted pod took to go away: it leads until it ends.
func (c *caseFile) grace(i Incident) time.Duration {
	for _, p := range c.History.Pods {
		if p.UID == i.UID && p.Gone {
			return p.At.Sub(c.until(i))
		}
	}
	return 0
}

// byIllness: an ill leader loses its leadership; an ill member and one that is
// away at the same time cost the quorum; and a member that was to take over
// while it was ill does so when it is back, or only ends the leader's term if
// others have gone on without it.
func (c *caseFile) byIllness(e observer.Election, i Incident) string {
	after := electionTakes
	if i.Fault.Kind != plan.Freeze {
		// TCP sends again after pauses that have grown as long as the cut was.
		after += c.until(i).Sub(i.From)
	}
	switch {
	case !c.within(e.At, i, after):
		return ""
	case c.lost(e, i.Member):
		return "it led"
	case c.is(e.Winner, i.Member) && c.wasToTakeOver(e, i):
		return "it was to take over"
	case e.To-e.From > 1 && c.wasToTakeOver(e, i):
		return "it was to take over, had fallen behind, and another one won the term after its own"
	case c.costsQuorum(i, e.At):
		return noQuorum
	}
	return ""
}

func (c *caseFile) is(id uint64, index int) bool {
	found, ok := c.members[id]
	return ok && found == index
}

// lost says that the member led before the election. In a short term the loser
// may have gone unseen; then it is whoever led before that.
func (c *caseFile) lost(e observer.Election, index int) bool {
	if e.Loser != 0 {
		return c.is(e.Loser, index)
	}
	term, leader := uint64(0), uint64(0)
	for _, s := range c.History.Samples {
		if s.Answered() && s.Leader != 0 && s.Term <= e.From && s.Term >= term {
			term, leader = s.Term, s.Leader
		}
	}
	return c.is(leader, index)
}

func (c *caseFile) wasToTakeOver(e observer.Election, i Incident) bool {
	for _, a := range c.Report.Announced {
		if c.is(a.To, i.Member) && a.At.Before(e.At) && a.At.After(i.From.Add(-moveTakes)) {
			return true
		}
	}
	return false
}

// awayBeside counts the other members whose pods were away or not yet well again
// at some time between the two.
func (c *caseFile) awayBeside(member int, from, to time.Time) int {
	away := map[int]bool{}
	for _, p := range c.Report.Replaced {
		back := p.Back.Add(joinTakes)
		if p.Back.IsZero() {
			back = c.Report.To
		}
		if p.Index != member && !p.Began.After(to) && !back.Before(from) {
			away[p.Index] = true
		}
	}
	return len(away)
}

func (c *caseFile) restarting(at time.Time) bool {
	for _, p := range c.Report.Replaced {
		if !p.Began.After(at) && (p.Back.IsZero() || !at.After(p.Back.Add(electionTakes))) {
			return true
		}
	}
	return false
}
