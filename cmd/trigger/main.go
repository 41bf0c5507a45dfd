// Command trigger watches opted-in StatefulSets and posts an event whenever one of them should be looked at.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"k8s.io/klog/v2"
	"knative.dev/pkg/signals"

	"github.com/etcdroll/etcdroll/pkg/otlp"
	"github.com/etcdroll/etcdroll/pkg/trigger"
)

// Set by the linker.
var version, commit = "dev", "unknown"

func main() {
	os.Exit(run())
}

func run() int {
	options, err := trigger.ParseOptions(os.Args[1:], os.Getenv, os.Stdout)
	if errors.Is(err, trigger.ErrHelp) {
		return 0
	}
	if err != nil {
		return fail(err, 2)
	}
	options.Version = version + " " + commit
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: options.LogLevel}))
	// The Kubernetes libraries log through klog; one stream, one format.
	klog.SetSlogLogger(log.With("from", "client-go"))
	ctx := signals.NewContext()
	spans, err := otlp.New(ctx, os.Getenv, "trigger", options.Version, log)
	if err != nil {
		return fail(err, 2)
	}
	if spans != nil {
		options.Spans = spans
	}
	err = trigger.Run(ctx, options, log)
	spans.End(log)
	if err != nil {
		return fail(err, 1)
	}
	return 0
}

// fail writes one line, whatever the error holds.
func fail(err error, code int) int {
	fmt.Fprintln(os.Stderr, "trigger: "+strings.Join(strings.Fields(err.Error()), " "))
	return code
}
