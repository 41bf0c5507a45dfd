package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/fault"
	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/ledger"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/chaos/round"
	"github.com/etcdroll/etcdroll/test/chaos/stage"
)

// theatre is where all rounds take place, and what they have shown.
type theatre struct {
	options
	ground *stage.Ground
	bite   *bite // nil with the product as it is

	mu     sync.Mutex
	lanes  map[int]*stage.Stage
	rows   []ledger.Row
	failed int // rounds with a broken invariant
	unmade int // rounds that could not be made
}

func (t *theatre) close() {
	for _, s := range t.lanes {
		s.Close()
	}
}

// lanes are the rounds of each lane, in their order.
type lanes [][]int

// groups are the lanes that go at the same time; one group follows the other.
// Each lane keeps its set for some rounds, so that no lane is ever split.
func groups(numbers []int, parallel int) (list []lanes) {
	for first := 0; first < plan.Lanes; first += parallel {
		var group lanes
		for lane := first; lane < min(first+parallel, plan.Lanes); lane++ {
			var mine []int
			for _, n := range numbers {
				if n%plan.Lanes == lane {
					mine = append(mine, n)
				}
			}
			if len(mine) > 0 {
				group = append(group, mine)
			}
		}
		if len(group) > 0 {
			list = append(list, group)
		}
	}
	return list
}

// together makes the rounds of some lanes at the same time. A lane goes on with
// its next round when it has done with the last one. It waits for the others only
// where a wave has faults that all of it share.
func (t *theatre) together(ctx context.Context, group lanes, until time.Time) {
	meetings := t.meetings(ctx, group)
	var all sync.WaitGroup
	for _, numbers := range group {
		all.Go(func() { t.lane(ctx, numbers, meetings, until) })
	}
	all.Wait()
}

// lane makes its rounds, or as many as there is time for.
func (t *theatre) lane(ctx context.Context, numbers []int, meetings map[int]*meeting, until time.Time) {
	for _, n := range numbers {
		p := plan.Make(t.seed, n)
		m := meetings[p.Wave()]
		if ctx.Err() != nil || (!until.IsZero() && time.Now().After(until)) {
			m.attend()() // nobody shall wait for who does not come
			continue
		}
		ready := m.attend()
		t.round(ctx, p, round.Shared{Ready: ready, Begin: m.begun(), Incidents: m.told()})
		ready()
		m.await()
	}
}

// shared does what befalls all rounds of the wave.
func (t *theatre) shared(ctx context.Context, faults []plan.Fault) (happened []judge.Incident) {
	for _, f := range faults {
		select {
		case <-ctx.Done():
			return happened
		case <-time.After(f.When.After):
		}
		happened = append(happened, round.Befall(ctx, ctx, fault.OfCluster(f, t.ground.Cluster), f)...)
	}
	return happened
}

// round makes one round on the set of its lane and judges it.
func (t *theatre) round(ctx context.Context, p plan.Round, shared round.Shared) {
	s, err := t.stage(ctx, p)
	var r judge.Record
	if err == nil {
		r, err = round.Make(ctx, s, p, shared)
	}
	if ctx.Err() != nil {
		return
	}
	v := judge.Verdict{}
	if err == nil {
		v = judge.Judge(r)
	}
	if err != nil || len(v.Findings) > 0 {
		t.drop(p.Lane()) // whatever state it is in, the next round begins with a new one
	}
	t.report(p, r, v, err)
}

// stage is the set of the lane, a new one where the plan wants one.
func (t *theatre) stage(ctx context.Context, p plan.Round) (*stage.Stage, error) {
	t.mu.Lock()
	s := t.lanes[p.Lane()]
	t.mu.Unlock()
	if s != nil && !p.First && s.Shape == p.Shape { // the first round of the next set may have been left out
		return s, nil
	}
	t.drop(p.Lane())
	s, err := stage.New(ctx, t.ground, p.Shape)
	if err != nil {
		return nil, fmt.Errorf("new set: %w", err)
	}
	t.mu.Lock()
	t.lanes[p.Lane()] = s
	t.mu.Unlock()
	return s, nil
}

func (t *theatre) drop(lane int) {
	t.mu.Lock()
	s := t.lanes[lane]
	delete(t.lanes, lane)
	t.mu.Unlock()
	if s != nil {
		s.Close()
	}
}
