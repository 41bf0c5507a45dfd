// Command scale measures what the trigger costs at a hundred, a thousand and ten
// thousand sets, and writes docs/scale.md and docs/scale.csv. Sizes that it is
// not asked for keep the figures of the run before.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/scale/stage"
)

func main() {
	sizes := flag.String("sizes", "100,1000,10000", "comma-separated numbers of sets")
	idle := flag.Duration("idle", 100*time.Second, "how long nothing is changed")
	built := flag.String("trigger", "", "`program` to measure (default: built as it is shipped)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *sizes, *built, *idle)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, sizes, built string, idle time.Duration) error {
	root, err := cluster.Root(ctx)
	if err != nil {
		return err
	}
	table, page := filepath.Join(root, "docs", "scale.csv"), filepath.Join(root, "docs", "scale.md")
	rows, err := readRows(table)
	if err != nil {
		return err
	}
	for text := range strings.SplitSeq(sizes, ",") {
		sets, err := strconv.Atoi(text)
		if err != nil || sets < 1 {
			return fmt.Errorf("-sizes: %q is no number of sets", text)
		}
		row, err := measure(ctx, sets, built, idle)
		if err != nil {
			return fmt.Errorf("%d sets: %w", sets, err)
		}
		rows[sets] = row
		if err := writeRows(table, rows); err != nil {
			return err
		}
	}
	text := render(rows)
	fmt.Print(text)
	return os.WriteFile(page, []byte(text), 0o644)
}

// measure has a control plane to itself, so that no size carries the last one's.
func measure(ctx context.Context, sets int, built string, idle time.Duration) (row, error) {
	dir, err := os.MkdirTemp("", "etcdroll-scale-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs := product.Programs{Trigger: built}
	if built == "" {
		if programs, err = product.BuildShipped(ctx, dir); err != nil {
			return nil, err
		}
	}
	c, err := cluster.Start(ctx, dir, os.Stderr)
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	if err := stage.Alone(ctx, c); err != nil {
		return nil, err
	}
	b := &bench{cluster: c, programs: programs, sets: sets, idle: idle, row: row{"sets": fmt.Sprint(sets), "pods": fmt.Sprint(3 * sets)}}
	defer b.end()
	for _, phase := range []struct {
		what string
		do   func(context.Context) error
	}{{"fill", b.fill}, {"start", b.start}, {"idle", b.rest}, {"relist", b.relist}, {"change", b.change}, {"scrape", b.scrape}} {
		began := time.Now()
		if err := phase.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", phase.what, err)
		}
		fmt.Fprintf(os.Stderr, "%d sets: %s took %s\n", sets, phase.what, time.Since(began).Round(time.Second))
	}
	return b.row, nil
}
