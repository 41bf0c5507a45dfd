// Command footprint measures what the two parts cost: how long the function
// takes to listen, how much memory both take, and what a step reads. It reports
// and judges nothing; figures depend on the machine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := measure(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "footprint:", err)
		os.Exit(1)
	}
}

// figure is one line of the report.
type figure struct{ what, measured, bar string }

func measure(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "etcdroll-footprint-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs, err := product.BuildShipped(ctx, dir)
	if err != nil {
		return err
	}
	c, err := cluster.Start(ctx, dir, os.Stderr)
	if err != nil {
		return err
	}
	defer c.Stop()
	start, err := startTimes(programs.Function, c.Kubeconfig)
	if err != nil {
		return err
	}
	figures, err := ofThree(ctx, c, programs)
	if err != nil {
		return err
	}
	ofNine, err := nineMembers(ctx, c, programs)
	if err != nil {
		return err
	}
	fmt.Printf("\n%-48s %-26s %s\n", "", "measured", "bar")
	for _, f := range slices.Concat([]figure{start}, figures, ofNine) {
		fmt.Printf("%-48s %-26s %s\n", f.what, f.measured, f.bar)
	}
	return nil
}

// ofThree rolls a set of three, and then looks at the trigger of three sets.
func ofThree(ctx context.Context, c *cluster.Cluster, programs product.Programs) ([]figure, error) {
	b := &bench{cluster: c, programs: programs}
	defer b.end()
	oneRoll, err := b.oneRoll(ctx)
	if err != nil {
		return nil, err
	}
	threeSets, err := b.threeSets(ctx)
	return append(oneRoll, threeSets...), err
}
