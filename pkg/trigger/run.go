package trigger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/etcdroll/etcdroll/pkg/events"
)

const (
	// preflight is the deadline for the first answer of the API server.
	preflight = 10 * time.Second
	// parting is how long requests that are under way at the end may take to be answered.
	parting = 10 * time.Second
)

// Run is the whole process: it returns nil when ctx ends, and otherwise the one line that says why it cannot go on.
func Run(ctx context.Context, o Options, log *slog.Logger) error {
	tuneCollector(os.Getenv)
	health, metrics := &Health{}, NewMetrics()
	stopServer, err := listen(o.Listen, health, metrics, log)
	if err != nil {
		return err
	}
	defer stopServer()
	sender, err := events.NewSender(o.Sink)
	if errors.Is(err, events.ErrNoSink) {
		return waitForSink(ctx, health, log)
	}
	if err != nil {
		return err
	}
	clients, err := connect(o)
	if err != nil {
		return err
	}
	store, err := openCache(ctx, clients, o.Scope)
	if err != nil {
		return ignoreStop(ctx, err)
	}
	queue := newQueue(clock.RealClock{})
	defer queue.ShutDown()
	t := &Trigger{
		Store: store, Schedule: queue, Sink: sender, Clock: clock.RealClock{}, Cadence: DefaultCadence(), Limits: o.Limits,
		Health: health, Metrics: metrics, Log: log, Spans: o.Spans,
	}
	metrics.ShowSets(t.Records, t.Clock)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := store.Start(ctx, o.SyncTimeout, o.Patience, t.Changed); err != nil {
		return ignoreStop(ctx, err)
	}
	health.Synced()
	giveBack()
	log.Info("watching", "version", o.Version, "sets", len(store.Keys()), "sink", sender.URL(), "namespaces", o.Scope.Namespaces)
	go failTogether(ctx, store.Failed(), cancel)
	go newWatchdog(o, store.Mirrors(clients.meta), t).Run(ctx)
	return t.serve(ctx, o, clients, queue)
}

func openCache(ctx context.Context, c clients, scope Scope) (*Cache, error) {
	if err := Preflight(ctx, c.meta, scope, preflight); err != nil {
		return nil, err
	}
	return NewCache(c.apps, c.meta, scope), nil
}

// waitForSink stays alive and unready: a SinkBinding will restart the pod once it has injected the sink.
func waitForSink(ctx context.Context, health *Health, log *slog.Logger) error {
	health.NoSink(events.ErrNoSink.Error())
	log.Error(events.ErrNoSink.Error())
	<-ctx.Done()
	return nil
}

func failTogether(ctx context.Context, failed <-chan error, cancel context.CancelCauseFunc) {
	select {
	case err := <-failed:
		cancel(err)
	case <-ctx.Done():
	}
}

// serve works the queue, while holding the lease if there is to be one.
func (t *Trigger) serve(ctx context.Context, o Options, clients clients, queue workQueue) error {
	work := func(ctx context.Context) {
		t.Metrics.Leading()
		t.Log.Info("sending", "workers", o.Workers)
		t.work(ctx, queue, o.Workers)
	}
	var err error
	if o.LeaderElect {
		err = Lease{
			Client: clients.coordination, Namespace: o.leaseNamespace(), Name: o.LeaseName, Identity: identity(),
			Duration: 15 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second,
		}.Lead(ctx, work)
	} else {
		work(ctx)
	}
	if err == nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.Canceled) {
		err = context.Cause(ctx)
	}
	return err
}

type workQueue = workqueue.TypedDelayingInterface[string]

// newQueue holds each set once and hands it to one worker at a time. The rates are the trigger's own (plan), because
// they depend on what a set is waiting for and not only on how often it has failed.
func newQueue(c clock.WithTicker) workQueue {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Name: "sets", Clock: c})
}

// work runs the workers and the sweep until ctx ends, and then gives the requests under way a moment to be answered.
func (t *Trigger) work(ctx context.Context, queue workQueue, workers int) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() { t.worker(sending, queue) })
	}
	ticker := time.NewTicker(t.Cadence.Sweep)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
			t.Sweep()
		case <-ctx.Done():
		}
	}
	queue.ShutDown()
	timer := time.AfterFunc(parting, cancel)
	defer timer.Stop()
	group.Wait()
}

func (t *Trigger) worker(ctx context.Context, queue workQueue) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		t.Look(ctx, key)
		queue.Done(key)
	}
}

func newWatchdog(o Options, mirrors []Mirror, t *Trigger) *Watchdog {
	return &Watchdog{
		Mirrors: mirrors, Every: o.Resync, Settle: 5 * time.Second, Patience: 55 * time.Second,
		Clock: clock.RealClock{}, Health: t.Health, Metrics: t.Metrics, Log: t.Log, Force: t.Force,
	}
}

// listen serves health and metrics from the very start, so that "not ready yet" has a reason to show.
func listen(address string, health *Health, metrics *Metrics, log *slog.Logger) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", serve(health.Alive))
	mux.HandleFunc("GET /readyz", serve(health.Ready))
	mux.HandleFunc("POST /dead-letters", deadLetters(metrics, log))
	mux.Handle("GET /metrics", metrics.Handler())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}

// ignoreStop: an error that comes of being told to stop is none.
func ignoreStop(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return nil
	}
	return err
}

func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}
