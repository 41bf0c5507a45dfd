package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/etcdroll/etcdroll/test/scale/cost"
	"github.com/etcdroll/etcdroll/test/scale/fleet"
	"github.com/etcdroll/etcdroll/test/scale/stage"
)

// samples is how many first events are wanted; a round changes one set in a
// hundred, and rounds are repeated until there are so many, or enough rounds.
const (
	samples    = 100
	mostRounds = 30
	leastRound = 3
	atOnce     = 16 // changes under way at the same time
)

func (b *bench) fill(ctx context.Context) error {
	var err error
	if b.place, b.fleet, err = stage.Settle(ctx, b.cluster, b.programs, "scale"); err != nil {
		return err
	}
	return b.fleet.Fill(ctx, b.sets, func(int) fleet.Condition { return fleet.Converged })
}

// change gives one set in a hundred a new template, again and again, and each
// time waits until all of them have converged.
func (b *bench) change(ctx context.Context) error {
	round := max(1, b.sets/100)
	rounds := min(mostRounds, max(leastRound, samples/round))
	events := len(b.function.Events())
	began := time.Now()
	used, err := cost.Processor(b.trigger.PID())
	if err != nil {
		return err
	}
	changed := map[string]time.Time{}
	for r := range rounds {
		if err := b.changeRound(ctx, r*round, round, changed); err != nil {
			return err
		}
	}
	took := time.Since(began)
	after, err := cost.Processor(b.trigger.PID())
	if err != nil {
		return err
	}
	b.row["changed"], b.row["at_once"] = fmt.Sprint(len(changed)), fmt.Sprint(round)
	b.row["change_cpu_percent"] = fmt.Sprintf("%.1f", 100*(after-used).Seconds()/took.Seconds())
	b.row["change_cpu_ms_per_set"] = fmt.Sprintf("%.1f", 1000*(after-used).Seconds()/float64(len(changed)))
	if err := b.settle(ctx); err != nil {
		return err
	}
	b.firstEvents(events, changed)
	return b.memory("change")
}

func (b *bench) changeRound(ctx context.Context, first, n int, changed map[string]time.Time) error {
	finished := b.function.Finished()
	var mu sync.Mutex
	err := fleet.Each(ctx, n, atOnce, func(ctx context.Context, i int) error {
		name := fleet.Name(first + i)
		at, err := b.fleet.Change(ctx, name, fleet.NewVersion)
		mu.Lock()
		defer mu.Unlock()
		changed[name] = at
		return err
	})
	if err != nil {
		return err
	}
	return until(ctx, 3*time.Minute, "the changed sets do not converge", func() (bool, error) {
		return b.function.Finished() == finished+n, b.function.Err()
	})
}

// firstEvents takes the time from the moment before the owner's request was sent
// until the function has the first event about the set.
func (b *bench) firstEvents(from int, changed map[string]time.Time) {
	var times []time.Duration
	seen := map[string]bool{}
	all := b.function.Events()[from:]
	for _, e := range all {
		if at, is := changed[e.Set]; is && !seen[e.Set] && e.At.After(at) {
			seen[e.Set] = true
			times = append(times, e.At.Sub(at))
		}
	}
	slices.Sort(times)
	b.row["first_events"] = fmt.Sprint(len(times))
	b.row["events_per_set"] = fmt.Sprintf("%.1f", float64(len(all))/float64(len(changed)))
	b.row["first_event_p50_ms"], b.row["first_event_p99_ms"] = percentile(times, 0.5), percentile(times, 0.99)
}
