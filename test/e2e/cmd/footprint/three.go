package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/audit"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/scale/cost"
)

const (
	enoughSteps = 40
	leastRolls  = 3 // one with leadership on each index
	mostRolls   = 8
	loggedSoon  = 5 * time.Second
)

// ofThree rolls a set of three again and again, asks the warm function about it
// and starts cold ones, and in the end looks at the trigger of three sets.
func ofThree(ctx context.Context, c *cluster.Cluster, programs product.Programs) ([]chapter, error) {
	b := &bench{cluster: c, programs: programs}
	defer b.end()
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	steps, rolls, err := b.rolls(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := audit.Between(c.AuditLog, began, time.Now(), b.place.FunctionUser())
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(entries, func(a, b audit.Entry) int { return a.At.Compare(b.At) }) // the log has them as they ended
	b.watching.Stop()                                                                        // it asks each member many times a second
	warm, peak, err := b.warmAnswers(ctx)
	if err != nil {
		return nil, err
	}
	cold, err := b.coldStarts(ctx)
	if err != nil {
		return nil, err
	}
	trigger, err := b.threeSets(ctx)
	most := below(fmt.Sprintf("roll-fn: peak resident memory over %d rolls of three and %d answers", rolls, answers), peak, peakTarget)
	return []chapter{
		{"Start", howStarts, cold},
		{"Steps", howSteps, stepFigures(steps, rolls)},
		{"Where the time of a release goes", howPhases, releasePhases(steps, entries)},
		{"Memory", howMemory, append([]figure{most}, trigger...)},
		{"Answers with nothing to do", howAnswers, warm},
		{"Requests of a step", howReads, reads(entries)},
	}, err
}

// begin installs everything and waits for the first set.
func (b *bench) begin(ctx context.Context) error {
	namespace, remove, err := b.cluster.Namespace(ctx, "footprint")
	if err != nil {
		return err
	}
	b.endings = append(b.endings, remove)
	if err := b.install(ctx, namespace); err != nil {
		return err
	}
	b.first, b.watching, err = b.set(ctx, namespace, "etcd")
	return err
}

// rolls gives the steps of as many rolls as are needed for enough of them. The
// first one goes to the next minor, the others change what etcd ignores.
func (b *bench) rolls(ctx context.Context) (steps []step, rolls int, err error) {
	before, err := b.stepsSoFar()
	if err != nil {
		return nil, 0, err
	}
	for rolls = 0; rolls < leastRolls || len(steps) < enoughSteps; rolls++ {
		if rolls == mostRolls {
			return nil, 0, fmt.Errorf("%d rolls took only %d steps", rolls, len(steps))
		}
		change := etcdset.WithEnv("ROLL", fmt.Sprint(rolls))
		if rolls == 0 {
			change = etcdset.ToVersion(nextVersion)
		}
		if err := b.first.LeadWith(ctx, (rolls+b.first.Replicas-1)%b.first.Replicas); err != nil {
			return nil, 0, err
		}
		from := b.watching.View().Set.Update
		if err := b.first.Apply(ctx, etcdset.Template(change)); err != nil {
			return nil, 0, err
		}
		if err := b.watching.Until(ctx, rollsWithin, "the roll has not ended", rolled(from)); err != nil {
			return nil, 0, err
		}
		all, err := b.stepsSoFar()
		if err != nil {
			return nil, 0, err
		}
		steps = all[len(before):]
	}
	return steps, rolls, nil
}

// stepsSoFar waits for the lines of the visits that have been answered.
func (b *bench) stepsSoFar() ([]step, error) {
	visits, err := b.stopwatch.Visits()
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(loggedSoon); ; time.Sleep(10 * time.Millisecond) {
		lines, err := linesOf(b.function.Log())
		if err != nil {
			return nil, err
		}
		if len(lines) >= len(visits) || time.Now().After(deadline) {
			return stepsOf(visits, lines)
		}
	}
}

// threeSets adds two sets and looks at the trigger.
func (b *bench) threeSets(ctx context.Context) ([]figure, error) {
	for _, name := range []string{"etcd-b", "etcd-c"} {
		if _, _, err := b.set(ctx, b.place.Namespace, name); err != nil {
			return nil, err
		}
	}
	m, err := cost.MemoryOf(b.trigger.PID())
	return []figure{
		plain("trigger: resident memory at three sets", mebi(m.Now)),
		plain("trigger: its peak until then", mebi(m.Peak)),
	}, err
}
