package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Run gives the tests a cluster and ends it however they end; if this process is
// killed, the kernel tells the cluster. It returns the exit code. The scratch
// directory stays if the tests fail, or if keep says so.
func Run(tests interface{ Run() int }, progress io.Writer, o Options, keep bool, use func(*Cluster)) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "etcdroll-e2e-")
	if err != nil {
		return fail(progress, err)
	}
	var c *Cluster
	defer func() {
		if p := recover(); p != nil {
			code = fail(progress, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		if c != nil {
			c.Stop()
		}
		if code == 0 && !keep {
			_ = os.RemoveAll(dir)
		} else {
			_, _ = fmt.Fprintln(progress, "logs are in", dir)
		}
	}()
	if c, err = StartWith(ctx, dir, progress, o); err != nil {
		return fail(progress, err)
	}
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-finished:
		case <-ctx.Done(): // an interrupt ends the tests at once
			_, _ = fmt.Fprintln(progress, "interrupted; the cluster is ended, logs are in", dir)
			c.Stop()
			os.Exit(130)
		}
	}()
	use(c)
	return tests.Run()
}

func fail(progress io.Writer, err error) int {
	_, _ = fmt.Fprintln(progress, err)
	return 1
}
