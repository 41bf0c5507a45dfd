package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
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
// the roll anew, a pod that came back outdated, because it was evicted or the
// set was locked meanwhile, has to go again as well, and whoever takes over from
// a member that was passed over may have to hand over once more.
func (c *caseFile) forced() (at []time.Time) {
	for _, e := range c.Report.Elections {
		if !e.Planned {
			at = append(at, e.At)
		}
	}
	at = append(at, c.passedOver()...)
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

// passedOver are the times at which another member was asked to take over than
// the one that had been asked twice in vain. A call that is lost, or whose
// outcome somebody else undoes at once, looks like one that its member refuses.
func (c *caseFile) passedOver() (at []time.Time) {
	var last observer.Announcement
	asked := 0
	inOrder := func(a, b observer.Announcement) int { return cmp.Compare(a.Seq, b.Seq) }
	for _, a := range slices.SortedFunc(slices.Values(c.Report.Announced), inOrder) {
		switch {
		case asked > 0 && a.Began.Equal(last.Began):
		case asked > 0 && a.From == last.From && a.To == last.To:
			asked++
		case asked > 1 && a.From == last.From:
			at, asked = append(at, a.At), 1
		default:
			asked = 1
		}
		last = a
	}
	return at
}
