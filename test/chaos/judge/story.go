package judge

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// change is one entry of the history, in the order in which the API server took
// it.
type change struct {
	set    *observer.SetState
	pod    *observer.PodState
	before map[int]observer.PodState // the pods before it
	out    map[int]outage            // those of them that were not up
	was    observer.SetState         // the set before it
}

// outage is a pod that is not up: away, or not Ready yet or any more.
type outage struct {
	since time.Time
	ours  bool // nobody but the product has given it up
}

func (c change) at() time.Time {
	if c.set != nil {
		return c.set.At
	}
	return c.pod.At
}

// caseFile is a record with what is drawn from it more than once.
type caseFile struct {
	Record
	line    []change
	members map[uint64]int // index by member id
}

func newCase(r Record) *caseFile {
	c := &caseFile{Record: r, members: map[uint64]int{}}
	for _, s := range r.History.Samples {
		if s.Answered() {
			c.members[s.ID] = s.Index
		}
	}
	c.tell()
	return c
}

func version(c change) uint64 {
	if c.set != nil {
		return c.set.Version
	}
	return c.pod.Version
}

func (c *caseFile) tell() {
	for i := range c.History.Sets {
		c.line = append(c.line, change{set: &c.History.Sets[i]})
	}
	for i := range c.History.Pods {
		c.line = append(c.line, change{pod: &c.History.Pods[i]})
	}
	slices.SortStableFunc(c.line, func(a, b change) int { return cmp.Compare(version(a), version(b)) })
	pods, out, set := map[int]observer.PodState{}, map[int]outage{}, observer.SetState{Partition: -1}
	for i := range c.line {
		c.line[i].before, c.line[i].out, c.line[i].was = maps.Clone(pods), maps.Clone(out), set
		if p := c.line[i].pod; p != nil {
			c.goesOut(out, pods[p.Index], *p)
			pods[p.Index] = *p
		} else {
			set = *c.line[i].set
		}
	}
}

// goesOut brings the outages up to date. One lasts until the pod's successor is
// Ready, through all objects in between.
func (c *caseFile) goesOut(out map[int]outage, before, now observer.PodState) {
	given := leaves(before, now) && !c.evicted(now.UID)
	o, already := out[now.Index]
	switch {
	case now.Up():
		delete(out, now.Index)
	case !already:
		out[now.Index] = outage{now.At, given}
	case given:
		o.ours = true
		out[now.Index] = o
	}
}

// kind gives the incidents of these kinds.
func (c *caseFile) incidents(kinds ...plan.Kind) []Incident {
	return slices.DeleteFunc(slices.Clone(c.Incidents), func(i Incident) bool { return !slices.Contains(kinds, i.Fault.Kind) })
}

// until is the end of an incident; one that lasts ends with the record.
func (c *caseFile) until(i Incident) time.Time {
	if i.To.IsZero() {
		return c.Report.To
	}
	return i.To
}

// within says that the moment lies in the incident or so long after it.
func (c *caseFile) within(at time.Time, i Incident, after time.Duration) bool {
	return !at.Before(i.From) && !at.After(c.until(i).Add(after))
}

// evicted says that the test evicted this pod.
func (c *caseFile) evicted(uid string) bool {
	return slices.ContainsFunc(c.incidents(plan.Evict), func(i Incident) bool { return i.UID == uid && uid != "" })
}

// leaves says that the pod was staying before and is not now.
func leaves(before, now observer.PodState) bool {
	staying := before.UID != "" && before.UID == now.UID && !before.Terminating && !before.Gone
	return staying && (now.Terminating || now.Gone)
}

// stays says that the pod exists and is not on its way out.
func stays(p observer.PodState) bool { return p.UID != "" && !p.Gone && !p.Terminating }

func quorum(members int) int { return members/2 + 1 }
