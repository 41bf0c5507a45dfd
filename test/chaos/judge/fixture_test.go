package judge

import (
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

const (
	oldRevision = "old"
	newRevision = "new"
)

// tape writes the history of a roll of three members, in seconds from its start.
type tape struct {
	Record
	start   time.Time
	version uint64
	set     observer.SetState
	pods    map[int]observer.PodState
	leader  int
	term    uint64
	down    map[int]bool
}

func (t *tape) at(second float64) time.Time {
	return t.start.Add(time.Duration(second * float64(time.Second)))
}

func id(index int) uint64 { return uint64(100 + index) }

// newTape is a set at rest that is about to be rolled.
func newTape(shape plan.Shape, leader int, faults ...plan.Fault) *tape {
	t := &tape{start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), pods: map[int]observer.PodState{}, leader: leader, term: 5, down: map[int]bool{}}
	t.Plan = plan.Round{Shape: shape, Leader: leader, Faults: faults}
	t.Started, t.Healed, t.Bound = t.at(0), t.at(0), 100*time.Second
	t.Report.Deletions = map[int]int{}
	t.set = observer.SetState{Generation: 1, Observed: 1, Replicas: shape.Members, Partition: shape.Members, Update: oldRevision, Current: oldRevision,
		OnDelete: shape.OnDelete, Annotations: map[string]string{events.AnnotationConvergedRevision: oldRevision}}
	t.write(-2, func(*observer.SetState) {})
	for i := range shape.Members {
		t.pod(-2, i, func(p *observer.PodState) { p.UID, p.Revision, p.Ready = "first", oldRevision, true })
	}
	t.write(-1, func(s *observer.SetState) { s.Update = newRevision })
	return t
}

func (t *tape) write(second float64, change func(*observer.SetState)) {
	t.version++
	next := t.set
	next.Annotations = map[string]string{}
	for k, v := range t.set.Annotations {
		next.Annotations[k] = v
	}
	change(&next)
	next.At, next.Version = t.at(second), t.version
	t.set = next
	t.History.Sets = append(t.History.Sets, next)
}

func (t *tape) pod(second float64, index int, change func(*observer.PodState)) {
	t.version++
	next := t.pods[index]
	change(&next)
	next.At, next.Index, next.Version = t.at(second), index, t.version
	t.pods[index] = next
	t.History.Pods = append(t.History.Pods, next)
}

// sample asks all members.
func (t *tape) sample(second float64) {
	for i := range t.Plan.Shape.Members {
		s := observer.Sample{At: t.at(second), Index: i, ID: id(i), Leader: id(t.leader), Term: t.term}
		if t.down[i] {
			s = observer.Sample{At: t.at(second), Index: i, Down: true}
		}
		t.History.Samples = append(t.History.Samples, s)
	}
}

// elect makes another member lead.
func (t *tape) elect(second float64, to int, planned bool) {
	e := observer.Election{At: t.at(second), From: t.term, To: t.term + 1, Loser: id(t.leader), Winner: id(to), Planned: planned}
	t.Report.Elections = append(t.Report.Elections, e)
	t.leader, t.term = to, t.term+1
	t.sample(second)
}

// release opens the set for one pod.
func (t *tape) release(second float64, index int) {
	t.sample(second - 0.1)
	t.write(second, func(s *observer.SetState) { s.Partition = index })
	t.Report.Windows = append(t.Report.Windows, observer.Window{Opened: t.at(second), Released: 1})
}

// ends is the pod going away.
func (t *tape) ends(second float64, index int) {
	t.pod(second, index, func(p *observer.PodState) { p.Terminating, p.Ready = true, false })
	t.pod(second+0.3, index, func(p *observer.PodState) { p.Gone = true })
	t.down[index] = true
	t.Report.Deletions[index]++
	t.Report.Replaced = append(t.Report.Replaced, observer.Replacement{Index: index, Began: t.at(second)})
	t.sample(second + 0.3)
}

// back is its successor coming up, and the set being locked.
func (t *tape) back(second float64, index int) {
	t.pod(second, index, func(p *observer.PodState) {
		*p = observer.PodState{UID: fmt.Sprintf("at %v", second), Revision: newRevision}
	})
	t.write(second+0.1, func(s *observer.SetState) { s.Partition = s.Replicas })
	if n := len(t.Report.Windows); n > 0 {
		t.Report.Windows[n-1].Closed = t.at(second + 0.1)
	}
	t.pod(second+1, index, func(p *observer.PodState) { p.Ready = true })
	delete(t.down, index)
	t.Report.Replaced[len(t.Report.Replaced)-1].Back = t.at(second + 1)
	t.sample(second + 1)
}

// replace is all that happens to one victim, in three seconds.
func (t *tape) replace(second float64, index int) {
	if !t.Plan.Shape.OnDelete {
		t.release(second, index)
	}
	t.ends(second+0.2, index)
	t.back(second+0.8, index)
}

// converge marks the set and ends the tape.
func (t *tape) converge(second float64) Record {
	t.write(second, func(s *observer.SetState) {
		s.Current = newRevision
		s.Annotations[events.AnnotationPhase] = events.PhaseConverged
		s.Annotations[events.AnnotationConvergedRevision] = newRevision
	})
	t.Settled = t.at(second)
	return t.stop(second + 5)
}

// stop ends the tape.
func (t *tape) stop(second float64) Record {
	t.sample(second)
	t.Report.From, t.Report.To = t.Started, t.at(second)
	t.Report.Final.Set = t.set
	for i := range t.Plan.Shape.Members {
		t.Report.Final.Pods = append(t.Report.Final.Pods, t.pods[i])
	}
	return t.Record
}

func (t *tape) befall(f plan.Fault, member int, from, to float64) {
	t.Incidents = append(t.Incidents, Incident{Fault: f, Member: member, From: t.at(from), To: t.at(to)})
	t.Healed = t.at(to)
}

var three = plan.Shape{Members: 3}

// roll is a roll that goes well: leadership starts at 1 and is moved to 2 once.
func roll(between func(t *tape)) Record {
	t := newTape(three, 1)
	t.replace(1, 2)
	t.elect(5, 2, true)
	if between != nil {
		between(t)
	}
	t.replace(6, 1)
	if t.leader == 0 { // somebody has brought it there
		t.elect(9.5, 2, true)
	}
	t.replace(10, 0)
	return t.converge(15)
}
