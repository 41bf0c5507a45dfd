// Command bench rolls one set of real etcd members again and again, by etcdroll
// and by what people use instead, in turns, and writes docs/benchmarks.md with
// its table and pictures. Every run that has ended is in docs/benchmarks/runs.csv
// at once; what is missing there is what the next call makes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/etcdroll/etcdroll/test/bench/ledger"
	"github.com/etcdroll/etcdroll/test/bench/page"
	"github.com/etcdroll/etcdroll/test/bench/stage"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// options of the command.
type options struct {
	stage.Options
	ledger.Plan
	fresh, pageOnly bool
	most            time.Duration
	out             string
}

func parse(args []string) (options, error) {
	o := options{Options: stage.Options{Version: "3.6.16", Members: 3}}
	var variants, graces string
	var all []string
	for _, v := range stage.Variants {
		all = append(all, v.Name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.Runs, "runs", 10, "runs of each variant with each grace")
	flags.StringVar(&variants, "variants", strings.Join(all, ","), "which to run")
	flags.StringVar(&graces, "grace", strings.Join(stage.Graces, ","), "how members end: term, kill")
	flags.DurationVar(&o.Cooldown, "cooldown", 3*time.Second, "soak after each restart, of the variants that soak")
	flags.IntVar(&o.Rate, "rate", 200, "writes a second")
	flags.BoolVar(&o.fresh, "fresh", false, "drop what was measured before")
	flags.BoolVar(&o.pageOnly, "page", false, "run nothing, write the document from the rows that are there")
	flags.BoolVar(&o.Keep, "keep", false, "keep the scratch directory with all logs")
	flags.DurationVar(&o.most, "for", 0, "begin no run after so long; 0 is no limit")
	flags.StringVar(&o.out, "out", "", "`directory` for document, table and pictures (default: docs of this checkout)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.Plan.Variants, o.Plan.Graces = strings.Split(variants, ","), strings.Split(graces, ",")
	for _, name := range o.Plan.Variants {
		if _, err := stage.Find(name); err != nil {
			return o, fmt.Errorf("%w; there are %s", err, strings.Join(all, ", "))
		}
	}
	for _, name := range o.Plan.Graces {
		if !slices.Contains(stage.Graces, name) {
			return o, fmt.Errorf("there is no grace %q; there are %s", name, strings.Join(stage.Graces, ", "))
		}
	}
	if o.Runs < 1 || o.Cooldown < time.Second || o.Rate < 1 || o.Rate > 1000 {
		return o, errors.New("-runs is at least 1, -cooldown at least 1s, -rate 1 to 1000")
	}
	return o, nil
}

func main() {
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run makes what is missing, and writes the document also when it was cut short.
func run(ctx context.Context, o options) error {
	root, err := cluster.Root(ctx)
	if err != nil {
		return err
	}
	if o.out == "" {
		o.out = filepath.Join(root, "docs")
	}
	files := page.In(o.out)
	if o.fresh {
		for _, file := range []string{files.Runs, files.Latency} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	var measured error
	if !o.pageOnly {
		measured = measure(ctx, o, files)
	}
	return errors.Join(measured, page.Write(files, stage.Described()))
}

// tries is how often in a row a cluster may fail before it has made one run.
const tries = 3

// measure makes what is missing. A cluster that can no longer be prepared for
// the next run is replaced by another one.
func measure(ctx context.Context, o options, files page.Files) error {
	until := time.Now().Add(o.most)
	for failed := 0; ; {
		made, err := sitting(ctx, o, files, until)
		if made > 0 {
			failed = 0
		}
		if failed++; err == nil || ctx.Err() != nil || failed == tries || errors.Is(err, ledger.ErrMixed) {
			return err
		}
		fmt.Fprintln(os.Stderr, "bench: begins anew:", err)
	}
}

// sitting makes missing runs on one cluster and says how many.
func sitting(ctx context.Context, o options, files page.Files, until time.Time) (made int, err error) {
	have, err := ledger.Read(files.Runs)
	if err != nil {
		return 0, err
	}
	missing := o.Missing(have)
	fmt.Fprintf(os.Stderr, "%d runs are there, %d are to make\n", len(have), len(missing))
	if len(missing) == 0 {
		return 0, nil
	}
	s, err := stage.Open(ctx, o.Options, os.Stderr)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	setting, err := s.Setting(ctx)
	if err != nil {
		return 0, err
	}
	if err := ledger.Comparable(have, setting); err != nil {
		return 0, fmt.Errorf("start anew with FRESH=1: %w", err)
	}
	for _, key := range missing {
		if o.most > 0 && time.Now().After(until) {
			fmt.Fprintf(os.Stderr, "%d runs are left for another time\n", len(missing)-made)
			return made, nil
		}
		if err := one(ctx, s, key, setting, files); err != nil {
			return made, fmt.Errorf("%s with %s, run %d: %w", key.Variant, key.Grace, key.Number, err)
		}
		made++
	}
	return made, nil
}

func one(ctx context.Context, s *stage.Stage, key ledger.Key, setting ledger.Setting, files page.Files) error {
	began := time.Now()
	r, latency, err := s.Run(ctx, key, setting)
	if err != nil {
		return err
	}
	if err := ledger.AppendLatency(files.Latency, latency); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s %-14s %s %2d: leader %d, %d unplanned, %d moves (minimum %d), gap %s, %d of %d failed, p99.9 %s, degraded %s, wall %s = %.3f floors, %d requests, %s processor; took %s; %s\n",
		time.Now().Format(time.TimeOnly), r.Variant, r.Grace, r.Number, r.Leader, r.Unplanned, r.Moves, r.Minimum, r.Gap.Round(time.Millisecond), r.Failed, r.Sent,
		r.P999.Round(time.Millisecond), r.Degraded.Round(time.Millisecond), r.Wall.Round(time.Millisecond), r.OverFloor(), r.Requests, r.CPU(),
		time.Since(began).Round(time.Second), r.Outcome)
	return ledger.Append(files.Runs, r)
}
