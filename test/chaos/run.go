package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/cut"
	"github.com/etcdroll/etcdroll/test/chaos/stage"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

// run makes all rounds on one cluster and says whether all went well.
func run(ctx context.Context, o options) (ok bool, err error) {
	return play(ctx, o, []string{"trigger", "roll-fn-chaos"}, func(o options, ground *stage.Ground) bool {
		began := time.Now()
		t := &theatre{options: o, ground: ground, lanes: map[int]*stage.Stage{}}
		defer t.close()
		for _, group := range groups(o.chosen(whatever), o.parallel) {
			t.together(ctx, group, o.until(began))
		}
		return t.summary(time.Since(began))
	})
}

// play lets something happen on a cluster with these programs. What it leaves
// behind is kept unless it went well.
func play(ctx context.Context, o options, programs []string, what func(options, *stage.Ground) bool) (ok bool, err error) {
	if o.logs == "" {
		if o.logs, err = os.MkdirTemp("", "etcdroll-chaos-"); err != nil {
			return false, err
		}
	} else if err := os.MkdirAll(o.logs, 0o755); err != nil {
		return false, err
	}
	ground, end, err := prepare(ctx, o.logs, programs)
	if err != nil {
		return false, err
	}
	defer func() {
		end() // first: what ends the cluster's processes lies in the same directory
		if ok && !o.keep {
			_ = os.RemoveAll(o.logs)
		}
	}()
	return what(o, ground), context.Cause(ctx)
}

// until is when no more rounds begin; zero if all are to be made.
func (o options) until(began time.Time) time.Time {
	if o.enough == 0 {
		return time.Time{}
	}
	return began.Add(o.enough)
}

// prepare starts the cluster and builds the programs.
func prepare(ctx context.Context, dir string, programs []string) (*stage.Ground, func(), error) {
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
		g.Programs, err = product.Build(ctx, filepath.Join(dir, "bin"), programs...)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return g, func() { g.Registry.Close(); end() }, nil
}
