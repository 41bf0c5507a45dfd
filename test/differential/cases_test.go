package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// single is one sync from one state, reachable or not.
type single struct {
	in        statefulset.Input
	old       statefulset.Status         // the status the set has
	history   [templates]int             // the order of the revisions that exist; 0: it does not
	forgotten bool                       // status.currentRevision names a revision that does not exist
	succeeded [statefulset.MostPods]bool // Finished pods that are Succeeded, not Failed
}

type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 37))} }

func (d dice) chance(p float64) bool { return d.Float64() < p }

// randomSingle draws a state. Every other of all states is mostly well, or no
// OrderedReady set of five would ever come to the point of updating anything.
func randomSingle(seed uint64, budgeted bool) single {
	d := newDice(seed)
	n, kinds := 1+d.IntN(statefulset.MostPods), 1+d.IntN(templates)
	in := statefulset.Input{
		Generation: 1 + d.Int64N(4), Replicas: n, Partition: d.IntN(n + 3), MaxUnavailable: 1 + d.IntN(2), Budgeted: budgeted,
		OnDelete: d.chance(0.12), Parallel: d.chance(0.5), Deleting: d.chance(0.05),
		Template: d.IntN(kinds), Current: d.IntN(kinds),
	}
	if d.chance(0.35) {
		in.MinReady = 5 * time.Second
	}
	if d.chance(0.08) {
		in.Current = statefulset.Unset
	}
	mood := [...]float64{0.3, 0.6, 0.9, 1}[d.IntN(4)]
	for i := range n {
		in.Pods[i] = d.pod(in.MinReady, mood, kinds)
		if d.chance(0.3) {
			in.Pods[i].Revision = in.Template
		}
		if in.Pods[i].Phase == statefulset.Missing {
			in.Pods[i] = statefulset.Pod{}
		}
	}
	s := single{in: in}
	for i := range s.succeeded {
		s.succeeded[i] = d.chance(0.3)
	}
	s.drawHistory(d)
	s.drawStatus(d)
	return s
}

func (d dice) pod(minReady time.Duration, mood float64, kinds int) statefulset.Pod {
	if d.chance(mood) {
		return statefulset.Pod{Phase: statefulset.Running, Ready: true, ReadyFor: minReady + time.Second, Revision: d.IntN(kinds)}
	}
	return statefulset.Pod{
		Phase: statefulset.Phase(d.IntN(4)), Terminating: d.chance(0.3), Ready: d.chance(0.5), Revision: d.IntN(kinds),
		ReadyFor: []time.Duration{0, time.Second, minReady - 1, minReady, minReady + 1}[d.IntN(5)],
	}
}

// drawHistory: a template may be new, or one of old that is not the newest.
func (s *single) drawHistory(d dice) {
	for place, r := range d.Perm(templates) {
		s.history[r] = place + 1
	}
	if d.chance(0.3) {
		s.history[s.in.Template] = 0
	}
	if s.in.Current == s.in.Template && s.history[s.in.Template] == 0 || s.in.Current == statefulset.Unset && d.chance(0.5) {
		s.in.Current, s.forgotten = statefulset.Unset, true
	}
}

// drawStatus gives the set the status of an earlier sync, or nearly.
func (s *single) drawStatus(d dice) {
	in := s.in
	s.old = statefulset.Decide(&in).Status // only to be near it: what it is does not matter
	s.old.CurrentRevision = in.Current
	for _, figure := range []*int{&s.old.Replicas, &s.old.ReadyReplicas, &s.old.AvailableReplicas, &s.old.CurrentReplicas, &s.old.UpdatedReplicas, &s.old.UpdateRevision} {
		if d.chance(0.06) {
			*figure = d.IntN(templates)
		}
	}
	if d.chance(0.3) {
		s.old.ObservedGeneration = d.Int64N(in.Generation + 1)
	}
}

// String is the state in words.
func (s single) String() string {
	var b strings.Builder
	in := &s.in
	fmt.Fprintf(&b, "replicas %d, partition %d, maxUnavailable %d, minReady %s, OnDelete %v, Parallel %v, gate %v, deleting %v\n", in.Replicas, in.Partition, in.MaxUnavailable, in.MinReady, in.OnDelete, in.Parallel, in.Budgeted, in.Deleting)
	fmt.Fprintf(&b, "  generation %d, template %d, status %+v, history %v, current forgotten %v\n", in.Generation, in.Template, s.old, s.history, s.forgotten)
	for i := range in.Replicas {
		p := in.Pods[i]
		fmt.Fprintf(&b, "  %s: %s of %d, ready %v for %s, terminating %v\n", podName(i), [...]string{"missing", "Pending", "Running", "finished"}[p.Phase], p.Revision, p.Ready, p.ReadyFor, p.Terminating)
	}
	return b.String()
}
