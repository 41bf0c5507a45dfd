package serve

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"knative.dev/pkg/network/handlers"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/fn/apiserver"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
	"github.com/etcdroll/etcdroll/pkg/otlp"
)

const (
	reachTime    = 10 * time.Second // the API server must have answered by then
	reachEvery   = time.Second
	quietTime    = 2 * time.Second // without a request before the listener closes
	shutdownTime = 7 * time.Second // for requests under way after that
	maxHeader    = 16 << 10

	// The heap is small and mostly garbage after each step; memory counts for
	// more here than the time to collect it.
	gcPercent = 50
)

// Version is what the process says it is, set by main.
var Version = "dev"

// Main runs the function until a signal ends it and gives the exit code.
// checkpoint is nil but in tests that end the process between two effects.
func Main(args []string, getenv func(string) string, out, complaints io.Writer, checkpoint fn.Checkpoint) int {
	o, err := Parse(args, getenv, out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return fail(complaints, err, 2)
	}
	log := slog.New(slog.NewJSONHandler(complaints, &slog.HandlerOptions{Level: o.LogLevel}))
	klog.SetSlogLogger(log.With("from", "client-go"))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, o, log, checkpoint); err != nil {
		return fail(complaints, err, 1)
	}
	return 0
}

// fail writes one line, whatever the error holds.
func fail(to io.Writer, err error, code int) int {
	fmt.Fprintln(to, "roll-fn: "+strings.Join(strings.Fields(err.Error()), " "))
	return code
}

// run listens first, so that who is waiting for a cold start waits in the queue
// of the port, and asks for the API server meanwhile: a start must not wait for a
// round trip.
func run(ctx context.Context, o Options, log *slog.Logger, checkpoint fn.Checkpoint) error {
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", o.Listen, err)
	}
	defer func() { _ = listener.Close() }() // when it is not served, or has been
	if o.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	config, api, err := connect(o.Kubeconfig)
	if err != nil {
		return err
	}
	spans, err := otlp.New(ctx, o.Getenv, "roll-fn", Version, log)
	if err != nil {
		return err
	}
	defer spans.End(log)
	stopping := make(chan struct{})
	handler, err := newHandler(o, api, log, checkpoint, stopping)
	if err != nil {
		return err
	}
	if spans != nil {
		handler.Spans = spans
	}
	log.Info("listening", "address", listener.Addr().String(), "version", Version)

	p := &probes{stopping: stopping}
	drainer := &handlers.Drainer{Inner: handler, HealthCheck: p.ServeHTTP, QuietPeriod: quietTime}
	server := newServer(o, p.beside(drainer), log)
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(listener) }()
	go func() {
		if err := p.reach(ctx, api); err != nil {
			ended <- fmt.Errorf("the API server %s cannot be reached: %w", config.Host, err)
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	return drain(server, drainer, stopping, log)
}

// connect prepares what asks the API server.
func connect(kubeconfig string) (*rest.Config, *apiserver.Client, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	api, err := apiserver.New(config)
	return config, api, err
}

// drain ends the polling of requests under way, waits until no new ones come
// and the old ones are answered, and closes.
func drain(server *http.Server, drainer *handlers.Drainer, stopping chan struct{}, log *slog.Logger) error {
	log.Info("draining")
	close(stopping)
	drainer.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("requests were still under way after %s: %w", shutdownTime, err)
	}
	return nil
}

func newHandler(o Options, api fn.API, log *slog.Logger, checkpoint fn.Checkpoint, stopping <-chan struct{}) (*fn.Handler, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "roll-fn"
	}
	h := &fn.Handler{
		Observer: fn.Observer{
			API: api, Clock: time.Now, Log: log,
			Members: func(l guard.Limits) fn.Members { return etcdprobe.New(l) },
		},
		Actor:      fn.Actor{API: api, Checkpoint: checkpoint},
		Namespaces: o.Namespaces, MaxWait: o.MaxWait,
		Clock: time.Now, Log: log, Instance: host, Stopping: stopping,
	}
	if o.ToSink {
		sender, err := events.NewSender(events.SinkFromEnv(o.Getenv))
		if err != nil {
			return nil, fmt.Errorf("--continue=sink: %w", err)
		}
		h.Sink = sender
	}
	return h, nil
}

func newServer(o Options, handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      o.MaxWait + 15*time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig %s: %w", kubeconfig, err)
		}
		return config, nil
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("no --kubeconfig, and no service account: %w", err)
	}
	return config, nil
}

// probes answers /healthz and /readyz. Ready means that the API server has
// answered once and that no end is near.
type probes struct {
	reached  atomic.Bool
	stopping <-chan struct{}
}

// reachable is what the start-up check needs of the API server.
type reachable interface{ Reach(context.Context) error }

func (p *probes) reach(ctx context.Context, api reachable) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	for {
		try, done := context.WithTimeout(ctx, reachTime/2)
		err := api.Reach(try)
		done()
		if err == nil {
			p.reached.Store(true)
			return nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil // we are ending anyway
			}
			return err
		case <-time.After(reachEvery):
		}
	}
}

func (p *probes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-p.stopping:
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	default:
	}
	if r.URL.Path == "/readyz" && !p.reached.Load() {
		http.Error(w, "the API server has not answered yet", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// beside serves the probes on their paths and everything else by next. They
// bypass the drainer, which would take each of them for a request.
func (p *probes) beside(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", p)
	mux.Handle("GET /readyz", p)
	mux.Handle("/", next)
	return mux
}
