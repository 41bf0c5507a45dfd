package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/chaos/sabotage"
	"github.com/etcdroll/etcdroll/test/chaos/stage"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/mutations"
)

// every is what -without takes for all sabotages, one after the other.
const every = "all"

// bite is a search for a round that finds one sabotage out.
type bite struct {
	sabotage.Sabotage
	enough context.CancelFunc // ends the search
	found  string             // where and by what; "" while it is not
}

// heard takes the verdict on a round.
func (b *bite) heard(p plan.Round, v judge.Verdict) {
	for _, f := range v.Findings {
		fmt.Printf("  %s: %s\n", f.Invariant, f.Text)
		if f.Invariant == b.Finds && b.found == "" {
			b.found = fmt.Sprintf("seed %d round %d by %s: %s", p.Seed, p.Number, f.Invariant, f.Text)
			b.enough()
		}
	}
}

// said is the outcome in a line.
func (b *bite) said() string {
	if b.found == "" {
		return fmt.Sprintf("without %s: NOT FOUND, %s should have been reported", b.Name, b.Finds)
	}
	return fmt.Sprintf("without %s: found in %s", b.Name, b.found)
}

// sabotages are those that -without means.
func (o options) sabotages() ([]sabotage.Sabotage, error) {
	switch one, ok := sabotage.Named(o.without); {
	case o.without == every:
		return sabotage.All, nil
	case ok:
		return []sabotage.Sabotage{one}, nil
	}
	return nil, fmt.Errorf("-without %q is none of %s, or %s of them", o.without, strings.Join(sabotage.Names(), ", "), every)
}

// bites makes rounds without one rule of the function after the other and says
// whether each was found out.
func bites(ctx context.Context, o options, list []sabotage.Sabotage) (all bool, err error) {
	return play(ctx, o, []string{"trigger"}, func(o options, ground *stage.Ground) bool {
		var said []string
		all := true
		for _, s := range list {
			line, found := search(ctx, o, ground, s)
			said, all = append(said, line), all && found
		}
		fmt.Printf("\n%s\n", strings.Join(said, "\n"))
		return all
	})
}

// search makes the rounds for one sabotage until one of them finds it.
func search(ctx context.Context, o options, ground *stage.Ground, s sabotage.Sabotage) (said string, found bool) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	b := &bite{Sabotage: s, enough: enough}
	o.without, o.logs = s.Name, filepath.Join(o.logs, s.Name)
	altered, err := without(ctx, o.logs, s)
	if err != nil {
		return fmt.Sprintf("without %s: not built: %v", s.Name, err), false
	}
	fmt.Printf("\nNobody keeps this any more: %s\n", s.Rule)
	place := *ground
	place.Programs.Chaos = altered
	t := &theatre{options: o, ground: &place, bite: b, lanes: map[int]*stage.Stage{}}
	defer t.close()
	began := time.Now()
	for _, group := range groups(o.chosen(s.Meets), o.parallel) {
		t.together(ctx, group, o.until(began))
	}
	fmt.Println(b.said())
	return b.said(), b.found != ""
}

// without builds the function that lacks a rule.
func without(ctx context.Context, dir string, s sabotage.Sabotage) (program string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	root, err := cluster.Root(ctx)
	if err != nil {
		return "", err
	}
	overlay, err := mutations.Overlay(root, dir, s.Edits...)
	if err != nil {
		return "", err
	}
	programs, err := product.BuildAltered(ctx, filepath.Join(dir, "bin"), overlay, "roll-fn-chaos")
	return programs.Chaos, err
}
