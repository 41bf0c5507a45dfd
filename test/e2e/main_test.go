package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"testing"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

var (
	keepLogs = flag.Bool("keep", false, "keep the scratch directory with all logs, also after success")
	rolls    = flag.Int("rolls", 0, "how many rolls TestThirtyRolls makes; 0 skips it")
)

// What all tests share: one cluster and the programs under test, which are built
// for the first test that wants them.
var (
	shared   *cluster.Cluster
	programs = sync.OnceValues(func() (product.Programs, error) {
		return product.Build(context.Background(), filepath.Join(shared.Dir, "bin"))
	})
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withCluster(m))
}

// withCluster runs the tests and ends the cluster however they end. If this
// process is killed, the kernel tells the cluster.
func withCluster(m *testing.M) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "etcdroll-e2e-")
	if err != nil {
		return fail(err)
	}
	defer func() {
		if p := recover(); p != nil {
			code = fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		if shared != nil {
			shared.Stop()
		}
		if code == 0 && !*keepLogs {
			_ = os.RemoveAll(dir)
		} else {
			fmt.Fprintln(os.Stderr, "logs are in", dir)
		}
	}()
	if shared, err = cluster.Start(ctx, dir, os.Stderr); err != nil {
		return fail(err)
	}
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-finished:
		case <-ctx.Done(): // an interrupt ends the tests at once
			fmt.Fprintln(os.Stderr, "interrupted; the cluster is ended, logs are in", dir)
			shared.Stop()
			os.Exit(130)
		}
	}()
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
