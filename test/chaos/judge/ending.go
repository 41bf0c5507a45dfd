package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
)

// openings is I3: between the write that opens the set and the one that locks
// it, one pod can be replaced.
func (c *caseFile) openings(v *Verdict) {
	for _, w := range c.Report.Windows {
		closed := w.Closed
		if closed.IsZero() {
			closed = c.Report.To
		}
		if w.Released > 1 {
			v.find("I3", w.Opened, fmt.Sprintf("%d outdated pods were released at once", w.Released))
		}
		gone := c.goneBetween(w.Opened, closed)
		// A template that changes while the set is open makes pods outdated that are
		// released already. It is the owner who does it, and the admission policy of
		// config/components that forbids it to him.
		changed := slices.ContainsFunc(c.incidents(plan.ChangeTemplate), func(i Incident) bool {
			return i.From.After(w.Opened.Add(-time.Second)) && i.From.Before(closed)
		})
		if len(gone) > 1 && !changed {
			v.find("I3", w.Opened, fmt.Sprintf("pods %v went while the set was open until %s", gone, clock(closed)))
		}
	}
}

// goneBetween are the pods that went away, but for those that the test evicted.
func (c *caseFile) goneBetween(from, to time.Time) (gone []int) {
	for _, e := range c.line {
		if e.pod != nil && leaves(e.before[e.pod.Index], *e.pod) && !e.at().Before(from) && !e.at().After(to) && !c.evicted(e.pod.UID) {
			gone = append(gone, e.pod.Index)
		}
	}
	return gone
}

// downByUs is I1 over the whole round: never two pods away at a time, but for
// those that the test evicted.
func (c *caseFile) downByUs(v *Verdict) {
	away, said := map[int]bool{}, false
	for _, e := range c.line {
		if e.pod == nil || !e.at().After(c.Started) {
			continue
		}
		p := *e.pod
		switch {
		case leaves(e.before[p.Index], p) && !c.evicted(p.UID):
			away[p.Index] = true
		case p.Up():
			delete(away, p.Index)
		}
		if len(away) > 1 && !said {
			said = true // once is enough
			v.find("I1", e.at(), fmt.Sprintf("%d pods were away at one time because of us", len(away)))
		}
	}
}

// markings is I8: the set is marked converged only when it is converged and
// locked. A pod that the test hits in the moment of the write is not held
// against it.
func (c *caseFile) markings(v *Verdict) {
	for _, e := range c.line {
		if e.set == nil || !e.at().After(c.Started) {
			continue
		}
		now, before := e.set.Annotations[events.AnnotationConvergedRevision], e.was.Annotations[events.AnnotationConvergedRevision]
		if now == "" || now == before {
			continue
		}
		var not []string
		if now != e.set.Update || e.set.Observed != e.set.Generation {
			not = append(not, fmt.Sprintf("marked is %s, the target %s", now, e.set.Update))
		}
		if !e.set.Locked() {
			not = append(not, "it is open")
		}
		for i := range e.set.Replicas {
			if _, out := c.outSince(e.out, i, e.at()); out || e.before[i].Revision != now {
				not = append(not, fmt.Sprintf("pod %d is not up on it", i))
			}
		}
		if len(not) > 0 {
			v.find("I8", e.at(), "marked converged, but "+strings.Join(not, ", "))
		}
	}
}

// ending is I5: with the faults over, the roll ends well within the bound. It
// may have halted where the plan makes that right, with a reason, and then a
// person's resume has brought it home.
func (c *caseFile) ending(v *Verdict) {
	for _, h := range c.Halts {
		switch {
		case h.ID == "" || h.Reason == "" || h.Message == "":
			v.find("I5", h.At, fmt.Sprintf("halted without telling why: %+v", h))
		case !c.Plan.MayHalt():
			v.find("I5", h.At, fmt.Sprintf("halted with %s (%s), which nothing in the plan makes right", h.Reason, h.Message))
		}
	}
	// Every resume begins a roll anew.
	bound := c.Bound * time.Duration(1+c.Resumed)
	switch {
	case c.Settled.IsZero():
		v.find("I5", c.Report.To, fmt.Sprintf("not converged and locked %s after the last fault: %s", c.Report.To.Sub(c.Healed).Round(time.Second), c.Report.Final))
	case c.Settled.Sub(c.Healed) > bound:
		v.find("I5", c.Settled, fmt.Sprintf("converged %s after the last fault, the bound is %s", c.Settled.Sub(c.Healed).Round(time.Second), bound))
	case !c.Report.Final.Settled():
		v.find("I5", c.Report.To, "converged, and then no more: "+c.Report.Final.String())
	}
}

// quiet is I10.
func (c *caseFile) quiet(v *Verdict) {
	for what, list := range map[string][]string{"the set changed": c.Quiet.Changes, "the function wrote": c.Quiet.Writes, "events were sent": c.Quiet.Events} {
		if len(list) > 0 {
			v.find("I10", c.Quiet.From, fmt.Sprintf("%s after the end: %s", what, strings.Join(list, ", ")))
		}
	}
}
