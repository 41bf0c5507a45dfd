package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/cut"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/chaos/stage"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

// run makes all rounds on one cluster and says whether all went well.
func run(ctx context.Context, o options) (ok bool, err error) {
	if o.logs == "" {
		if o.logs, err = os.MkdirTemp("", "etcdroll-chaos-"); err != nil {
			return false, err
		}
	} else if err := os.MkdirAll(o.logs, 0o755); err != nil {
		return false, err
	}
	ground, end, err := prepare(ctx, o.logs)
	if err != nil {
		return false, err
	}
	defer func() {
		end() // first: what ends the cluster's processes lies in the same directory
		if ok && !o.keep {
			_ = os.RemoveAll(o.logs)
		}
	}()
	began := time.Now()
	t := &theatre{options: o, ground: ground, lanes: map[int]*stage.Stage{}}
	defer t.close()
	for _, wave := range waves(o.numbers(), o.parallel) {
		if ctx.Err() != nil || (o.enough > 0 && time.Since(began) > o.enough) {
			break
		}
		t.wave(ctx, wave)
	}
	return t.summary(time.Since(began)), context.Cause(ctx)
}

// waves groups the rounds that are made at the same time. Rounds of two waves
// never are, since each wave has faults of its own that all of it share.
func waves(numbers []int, parallel int) (groups [][]int) {
	for _, n := range numbers {
		last := len(groups) - 1
		if last < 0 || len(groups[last]) == parallel || groups[last][0]/plan.Lanes != n/plan.Lanes {
			groups = append(groups, nil)
			last++
		}
		groups[last] = append(groups[last], n)
	}
	return groups
}

// prepare starts the cluster and builds the programs.
func prepare(ctx context.Context, dir string) (*stage.Ground, func(), error) {
	room, remove, err := cut.Room()
	if err != nil {
		fmt.Printf("members are NOT cut off or slowed, this machine cannot: %v\n", err)
		remove = func() {}
	} else {
		fmt.Println("members are cut off and slowed by BPF programs on their cgroups, which drop packets; there is no netem in it")
	}
	g := &stage.Ground{Cgroup: room}
	c, err := cluster.StartWith(ctx, dir, os.Stderr, cluster.Options{Cgroup: room})
	if err != nil {
		remove()
		return nil, nil, err
	}
	g.Cluster = c
	end := func() { c.Stop(); remove() }
	if !c.Local() {
		end()
		return nil, nil, fmt.Errorf("chaos breaks the control plane: unset %s", cluster.EnvKubeconfig)
	}
	url, err := c.Etcd()
	if err == nil {
		g.Registry, err = observer.OpenRegistry(url)
	}
	if err == nil {
		g.Programs, err = product.Build(ctx, filepath.Join(dir, "bin"), "trigger", "roll-fn-chaos")
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return g, func() { g.Registry.Close(); end() }, nil
}
