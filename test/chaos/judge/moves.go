package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
)

// moves is I9. What forces another move comes before it: what happens later
// explains none that was made already.
func (c *caseFile) moves(v *Verdict) {
	needed, forced := c.needs(c.Plan.Leader == c.firstVictim()), c.forced()
	v.Allowed = needed + len(forced)
	made := 0
	for _, e := range c.Report.Elections {
		if !e.Planned {
			continue
		}
		made++
		by := needed
		for _, at := range forced {
			if !at.After(e.At) {
				by++
			}
		}
		if made > by {
			v.find("I9", e.At, fmt.Sprintf("%d leader moves, at most %d were needed by then", made, by))
			return // once is enough
		}
	}
}

// needs is how many moves a roll needs: one, and two if leadership begins on the
// first victim of a set that is rolled from the highest index.
func (c *caseFile) needs(firstLeads bool) int {
	switch {
	case c.Plan.Shape.Members == 1:
		return 0
	case firstLeads && !c.Plan.Shape.OnDelete:
		return 2
	}
	return 1
}

func (c *caseFile) firstVictim() int { return c.Plan.Shape.Members - 1 }

// firstMayLead says that the first victim leads at the moment, or comes to lead
// by a move that may have been under way then.
func (c *caseFile) firstMayLead(at time.Time) bool {
	leads := c.Plan.Leader == c.firstVictim()
	for _, e := range c.Report.Elections {
		switch won := c.is(e.Winner, c.firstVictim()); {
		case !e.At.After(at):
			leads = won
		case won && e.At.Sub(at) < moveTakes:
			return true
		}
	}
	return leads
}

// forced are the times of what may make one more move necessary: an election
// that is not ours may bring leadership back to a victim, a new template begins
// the roll anew, and a pod that came back outdated, because it was evicted or the
// set was locked meanwhile, has to go again as well.
func (c *caseFile) forced() (at []time.Time) {
	for _, e := range c.Report.Elections {
		if !e.Planned {
			at = append(at, e.At)
		}
	}
	for _, i := range c.incidents(plan.ChangeTemplate) {
		at = append(at, slices.Repeat([]time.Time{i.From}, c.needs(c.firstMayLead(i.From)))...)
	}
	for _, e := range c.line {
		if e.pod == nil || e.pod.Gone || !e.at().After(c.Started) {
			continue
		}
		if e.pod.UID != e.before[e.pod.Index].UID && e.pod.Revision != e.was.Update {
			at = append(at, e.at())
		}
	}
	return at
}
