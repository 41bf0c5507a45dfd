// Package otlp sends spans to an OpenTelemetry collector, if the standard
// environment variables name one. Without them nothing of it runs.
package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Exporter sends spans in batches, in the background. A nil one sends none.
type Exporter struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// Wanted says whether the environment names a collector. The variables are
// OpenTelemetry's own.
func Wanted(getenv func(string) string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// New is an exporter as the environment describes it, or nil if none is
// wanted. It connects to nothing yet: a collector that is away delays nobody.
func New(ctx context.Context, getenv func(string) string, service, version string, log *slog.Logger) (*Exporter, error) {
	if !Wanted(getenv) {
		return nil, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := getenv(name); p != "" && p != "http/protobuf" {
			return nil, fmt.Errorf("%s %q: only http/protobuf is spoken; its port at a collector is 4318", name, p)
		}
	}
	client, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_*: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", service), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("traces not sent", "error", strings.Join(strings.Fields(err.Error()), " "))
	}))
	return with(sdktrace.WithBatcher(client), sdktrace.WithResource(about)), nil
}

func with(options ...sdktrace.TracerProviderOption) *Exporter {
	provider := sdktrace.NewTracerProvider(append(options, sdktrace.WithIDGenerator(ids{}))...)
	return &Exporter{provider: provider, tracer: provider.Tracer("github.com/etcdroll/etcdroll")}
}

// Tell sends a span that has ended already.
func (e *Exporter) Tell(s events.Span) {
	if e == nil {
		return
	}
	ctx := context.WithValue(remote(s.Parent), ownKey{}, contextOf(s.Own))
	kind := trace.SpanKindConsumer
	if s.Parent.Parent == "" {
		kind = trace.SpanKindProducer
	}
	_, span := e.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Start), trace.WithSpanKind(kind), trace.WithAttributes(attributes(s.Attrs)...))
	if s.Failure != "" {
		span.SetStatus(codes.Error, s.Failure)
	}
	span.End(trace.WithTimestamp(s.End))
}

// Close sends what is left, as long as ctx allows.
func (e *Exporter) Close(ctx context.Context) error {
	if e == nil {
		return nil
	}
	return e.provider.Shutdown(ctx)
}

// endWithin bounds what the last spans may cost a process that ends.
const endWithin = 2 * time.Second

// End closes at the end of a process; one that scales to zero would lose the
// spans of every roll's end otherwise. A collector that is away costs a warning.
func (e *Exporter) End(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		log.Warn("last traces not sent", "error", err.Error())
	}
}

// remote is a context whose current span is the one that an event names.
func remote(t events.Trace) context.Context {
	carrier := propagation.MapCarrier{"traceparent": t.Parent, "tracestate": t.State}
	return propagation.TraceContext{}.Extract(context.Background(), carrier)
}

func contextOf(t events.Trace) trace.SpanContext { return trace.SpanContextFromContext(remote(t)) }

func attributes(attrs []slog.Attr) []attribute.KeyValue {
	list := make([]attribute.KeyValue, 0, len(attrs))
	for _, a := range attrs {
		key := attribute.Key("etcdroll." + a.Key)
		switch a.Value.Kind() {
		case slog.KindInt64:
			list = append(list, key.Int64(a.Value.Int64()))
		case slog.KindBool:
			list = append(list, key.Bool(a.Value.Bool()))
		default:
			if text := a.Value.String(); text != "" {
				list = append(list, key.String(text))
			}
		}
	}
	return list
}
