package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
)

// How old something must be before the product can be blamed for not knowing it.
// Between the last look and the write there is always a moment in which a member
// can fall ill unseen.
const (
	// A pod that is going away is told by the reads right before the write.
	podKnown = 1500 * time.Millisecond
	// A pod that we have given up ourselves is on record; until its successor is up
	// there is nothing that could be unknown but a watch that is behind another.
	ownKnown = 300 * time.Millisecond
	// A member that froze or was cut off is told by a probe in vain: one call has
	// 2.5 s, and the gates wait up to 2 s for members to catch up. Whoever began to
	// ask after the member fell ill cannot have had its answer.
	memberKnown = 3 * time.Second
	// Leadership that came to the victim by somebody else's doing: the victim is
	// asked last before the write.
	leaderKnown = 1500 * time.Millisecond
)

// gift is a pod that the product gave up.
type gift struct {
	at    time.Time
	index int
	how   string
	out   map[int]outage // the pods that were not up
	acted bool           // the controller's delete of what was released before
}

// gifts finds every pod that was given up: released by an opening, or deleted by
// anybody but the test.
func (c *caseFile) gifts() []gift {
	var found []gift
	for _, e := range c.line {
		if !e.at().After(c.Started) {
			continue
		}
		switch {
		case e.set != nil && !e.set.Locked() && e.set.Partition != e.was.Partition:
			for i := max(0, e.set.Partition); i < e.set.Replicas; i++ {
				if p := e.before[i]; stays(p) && p.Revision != e.set.Update {
					found = append(found, gift{at: e.at(), index: i, how: "released", out: e.out})
				}
			}
		case e.pod != nil && leaves(e.before[e.pod.Index], *e.pod) && !c.evicted(e.pod.UID):
			acted := !e.was.Locked() && e.pod.Index >= e.was.Partition
			found = append(found, gift{at: e.at(), index: e.pod.Index, how: "deleted", out: e.out, acted: acted})
		}
	}
	return found
}

// givenUp checks I1 and I2 at every pod that was given up. The controller's own
// delete of a released pod is not judged by what has happened since its release,
// but by who leads.
func (c *caseFile) givenUp(v *Verdict) {
	for _, g := range c.gifts() {
		if c.Plan.Shape.Members > 1 && !g.acted {
			c.quorumAround(g, v)
		}
		c.led(g, v)
	}
}

// quorumAround is I1: with the victim away, the members that are really well
// must be a quorum, and no other pod may be away.
func (c *caseFile) quorumAround(g gift, v *Verdict) {
	well := 0
	for i := range c.Plan.Shape.Members {
		if i == g.index {
			continue
		}
		switch why := c.unwell(i, g); {
		case why == "":
			well++
		default:
			v.find("I1", g.at, fmt.Sprintf("pod %d was %s while %s", g.index, g.how, why))
		}
	}
	if need := quorum(c.Plan.Shape.Members); well < need {
		v.find("I1", g.at, fmt.Sprintf("pod %d was %s with %d other members well, a quorum is %d", g.index, g.how, well, need))
	}
}

// unwell says why a member was down, in truth and for long enough to be known.
func (c *caseFile) unwell(index int, g gift) string {
	if since, out := c.outSince(g.out, index, g.at); out {
		return fmt.Sprintf("pod %d was not up since %s", index, clock(since))
	}
	for _, i := range c.incidents(plan.Freeze, plan.Cut) {
		if i.Member == index && g.at.Sub(i.From) > memberKnown+c.blind(g.at) && g.at.Before(c.until(i)) {
			return fmt.Sprintf("member %d was ill (%s since %s)", index, i.Fault.Kind, clock(i.From))
		}
	}
	if since, down := c.downSince(index, g.at); down && g.at.Sub(since) > podKnown+c.blind(g.at) {
		return fmt.Sprintf("member %d did not answer since %s", index, clock(since))
	}
	return ""
}

// outSince says that a pod was not up, for long enough to be known.
func (c *caseFile) outSince(out map[int]outage, index int, at time.Time) (since time.Time, known bool) {
	o, is := out[index]
	need := podKnown + max(c.blind(at), c.behind(at))
	if o.ours {
		need = ownKnown
	}
	return o.since, is && at.Sub(o.since) > need
}

// behind is how old the pods were that the API server showed to the function.
func (c *caseFile) behind(at time.Time) time.Duration {
	oldest := time.Duration(0)
	for _, i := range c.incidents(plan.StaleReads) {
		if c.within(at, i, podKnown) {
			oldest = max(oldest, i.Fault.Every)
		}
	}
	return oldest
}

// blind is how long the function was frozen right before: whoever is stopped
// between its last look and its write acts on a view of the past, and nothing
// that is read before a write can help. The set's resourceVersion fences what
// the product itself does meanwhile, so that one more member down is the most
// that it can cost.
func (c *caseFile) blind(at time.Time) time.Duration {
	longest := time.Duration(0)
	for _, i := range c.incidents(plan.FreezeFunction) {
		if c.within(at, i, memberKnown) {
			longest = max(longest, c.until(i).Sub(i.From)+memberKnown)
		}
	}
	return longest
}

// downSince is since when a member has been out of reach.
func (c *caseFile) downSince(index int, at time.Time) (since time.Time, down bool) {
	for _, s := range c.History.Samples {
		switch {
		case s.At.After(at):
			return since, down
		case s.Index != index || s.Slow:
		case s.Down && !down:
			since, down = s.At, true
		case !s.Down:
			down = false
		}
	}
	return since, down
}

// led is I2.
func (c *caseFile) led(g gift, v *Verdict) {
	if c.Plan.Shape.Members == 1 || !c.leads(g.index, g.at) {
		return // a single voter has nobody to hand over to
	}
	if came, others := c.leadershipCame(g.index, g.at); others {
		known := leaderKnown + c.blind(g.at)
		if g.acted {
			// A release fires whenever the controller acts on it; until then the product
			// can only take it back when it sees who leads.
			known = max(known, g.at.Sub(c.releasedAt(g))+leaderKnown)
		}
		if g.at.Sub(came) <= known {
			return
		}
	}
	v.find("I2", g.at, fmt.Sprintf("pod %d was %s while its member led", g.index, g.how))
}

func (c *caseFile) releasedAt(g gift) time.Time {
	at := g.at
	for _, other := range c.gifts() {
		if other.index == g.index && other.how == "released" && !other.at.After(g.at) {
			at = other.at
		}
	}
	return at
}

// leads says that the highest term that anybody had named by then is led by the
// member.
func (c *caseFile) leads(index int, at time.Time) bool {
	term, leader := uint64(0), uint64(0)
	for _, s := range c.History.Samples {
		if s.At.After(at) {
			break
		}
		if s.Answered() && s.Leader != 0 && s.Term >= term {
			term, leader = s.Term, s.Leader
		}
	}
	led, known := c.members[leader]
	return known && led == index
}

// leadershipCame is when the member got its leadership, and whether by an
// election that the product did not announce.
func (c *caseFile) leadershipCame(index int, at time.Time) (came time.Time, others bool) {
	for _, e := range slices.Backward(c.Report.Elections) {
		if !e.At.After(at) {
			winner, known := c.members[e.Winner]
			return e.At, known && winner == index && !e.Planned
		}
	}
	return time.Time{}, false
}

func clock(t time.Time) string { return t.Format("15:04:05.000") }
