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

// wave makes some rounds at the same time.
func (t *theatre) wave(ctx context.Context, numbers []int) {
	begin := make(chan struct{})
	var ready, done sync.WaitGroup
	var incidents []chan []judge.Incident
	ready.Add(len(numbers))
	for _, n := range numbers {
		in := make(chan []judge.Incident, 1)
		incidents = append(incidents, in)
		once := sync.OnceFunc(ready.Done)
		done.Go(func() {
			defer once()
			t.round(ctx, plan.Make(t.seed, n), round.Shared{Ready: once, Begin: begin, Incidents: in})
		})
	}
	ready.Wait()
	close(begin)
	happened := t.shared(ctx, plan.Make(t.seed, numbers[0]).Shared)
	for _, in := range incidents {
		in <- happened
	}
	done.Wait()
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
	if s != nil && !p.First {
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
