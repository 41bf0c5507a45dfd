package main

import (
	"context"
	"sync"

	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
)

// meeting is where the lanes of a wave begin their rounds at the same moment,
// because something is to befall the control plane that they share.
//
// Invariant: while it does, every lane is in its round of this wave. None has
// gone on, and none is making a set. A nil meeting is that of a wave without such
// faults: nobody waits for anybody.
type meeting struct {
	ready sync.WaitGroup
	begin chan struct{}
	over  chan struct{} // closed when the faults are
	after []judge.Incident
}

// meetings are those that the lanes of the group will have, by wave.
func (t *theatre) meetings(ctx context.Context, group lanes) map[int]*meeting {
	all := map[int]*meeting{}
	for _, numbers := range group {
		for _, n := range numbers {
			p := plan.Make(t.seed, n)
			if len(p.Shared) == 0 {
				continue
			}
			if all[p.Wave()] == nil {
				m := &meeting{begin: make(chan struct{}), over: make(chan struct{})}
				all[p.Wave()] = m
				defer func() { go m.hold(ctx, t, p.Shared) }() // when all who will come are counted
			}
			all[p.Wave()].ready.Add(1)
		}
	}
	return all
}

func (m *meeting) hold(ctx context.Context, t *theatre, faults []plan.Fault) {
	m.ready.Wait()
	close(m.begin)
	m.after = t.shared(ctx, faults)
	close(m.over)
}

// attend gives what a lane calls when its round may begin, or will not be made;
// more than once is as good as once.
func (m *meeting) attend() func() {
	if m == nil {
		return func() {}
	}
	return sync.OnceFunc(m.ready.Done)
}

var atOnce = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (m *meeting) begun() <-chan struct{} {
	if m == nil {
		return atOnce
	}
	return m.begin
}

// told is where a round hears what has befallen all, when it is over.
func (m *meeting) told() <-chan []judge.Incident {
	told := make(chan []judge.Incident, 1)
	if m == nil {
		told <- nil
		return told
	}
	go func() {
		<-m.over
		told <- m.after
	}()
	return told
}

func (m *meeting) await() {
	if m != nil {
		<-m.over
	}
}
