package differential

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// act is what happens in one step of a script.
type act uint8

const (
	syncs       act = iota
	syncsInVain     // the status cannot be written
	settles         // every pod comes one step further
	changeTemplate
	changePartition
	changeMaxUnavailable
	changeStrategy
	starts
	becomesReady
	becomesUnready
	finishes
	evicted // somebody else deletes the pod
	goes    // a terminating pod is gone
	timePasses
	deleting // last, and never drawn with the others
	acts
)

var actNames = [acts]string{
	"the controller syncs", "the controller syncs, and its status is refused", "the pods come one step further", "the template changes", "the partition changes",
	"maxUnavailable changes", "the strategy changes", "a pod starts", "a pod becomes ready", "a pod becomes unready", "a pod finishes", "a pod is evicted",
	"a terminating pod is gone", "time passes", "the set is being deleted",
}

// weights are how often each act is drawn.
var weights = [acts]int{10, 3, 5, 12, 12, 3, 1, 3, 4, 5, 4, 4, 4, 6, 0}

// step is an act, the pod it happens to, and a figure. A step that makes no
// sense in the state it meets does nothing, so that any step may be left out.
type step struct {
	act        act
	pod, value int
}

func (s step) String() string { return fmt.Sprintf("%s (%d, %d)", actNames[s.act], s.pod, s.value) }

// script is a set without pods, and what happens to it.
type script struct {
	in    statefulset.Input
	steps []step
}

func randomScript(seed uint64, budgeted bool) script {
	d := newDice(seed)
	n := 1 + d.IntN(statefulset.MostPods)
	s := script{in: statefulset.Input{
		Generation: 1, Replicas: n, Partition: d.IntN(n + 3), MaxUnavailable: 1 + d.IntN(2), Budgeted: budgeted,
		OnDelete: d.chance(0.1), Parallel: d.chance(0.5), Current: statefulset.Unset, MinReady: time.Duration(d.IntN(2)*3) * time.Second,
	}}
	for range 2 * n { // grown before anything happens to it
		s.steps = append(s.steps, step{act: syncs}, step{act: settles}, step{act: settles}, step{timePasses, 0, 5})
	}
	for range 6 + d.IntN(8) {
		s.steps = append(s.steps, d.trouble(n)...)
		s.steps = append(s.steps, d.progress()...)
	}
	if d.chance(0.2) {
		s.steps = append(s.steps, step{act: deleting}, step{act: syncs}, step{act: settles}, step{act: syncs})
	}
	return s
}

// trouble is up to four things that happen before the controller looks again.
func (d dice) trouble(n int) []step {
	var steps []step
	for range d.IntN(5) {
		steps = append(steps, step{d.act(), d.IntN(n), d.IntN(12)})
	}
	return steps
}

// progress is some syncs, with pods that come along between most of them.
func (d dice) progress() []step {
	var steps []step
	pace := [...]float64{0.2, 0.7, 1}[d.IntN(3)]
	for range 1 + d.IntN(6) {
		steps = append(steps, step{act: syncs})
		for range 2 {
			if d.chance(pace) {
				steps = append(steps, step{act: settles}, step{timePasses, 0, d.IntN(8)})
			}
		}
	}
	return steps
}

func (d dice) act() act {
	total := 0
	for _, w := range weights {
		total += w
	}
	left := d.IntN(total)
	for a, w := range weights {
		if left -= w; left < 0 {
			return act(a)
		}
	}
	return syncs
}

// run plays the script to both sides and tells the first difference; empty if
// there is none.
func (s script) run(decide decision, met *tallies) string {
	p := newPair(s.in, decide)
	p.met = met
	for k, step := range s.steps {
		if difference := p.take(step); difference != "" {
			return fmt.Sprintf("%+v\n%s\nstep %d: %s", s.in, s.told(k), k, difference)
		}
	}
	return ""
}

// told is the script up to a step.
func (s script) told(last int) string {
	var b strings.Builder
	for k := range last + 1 {
		fmt.Fprintf(&b, "%4d %s\n", k, s.steps[k])
	}
	return b.String()
}

// shrunk is a script that still tells the two apart, and none of whose steps
// can be left out.
func (s script) shrunk(decide decision) script {
	for k := len(s.steps) - 1; k >= 0; k-- {
		next := s
		next.steps = append(append([]step(nil), s.steps[:k]...), s.steps[k+1:]...)
		if next.run(decide, nil) != "" {
			s, k = next, min(k, len(next.steps))
		}
	}
	return s
}
