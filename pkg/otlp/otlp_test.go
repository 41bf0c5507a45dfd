package otlp

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/collector"
)

var target = events.Target{Namespace: "ns", Name: "etcd"}

// environ sets the variables, for the libraries read the process's own.
func environ(t *testing.T, pairs ...string) func(string) string {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
		t.Setenv(pairs[i], pairs[i+1])
	}
	return func(name string) string { return values[name] }
}

func TestNothingIsSentUnlessACollectorIsNamed(t *testing.T) {
	for name, pairs := range map[string][]string{
		"nothing set": nil,
		"disabled":    {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_SDK_DISABLED", "true"},
		"no exporter": {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := New(t.Context(), environ(t, pairs...), "roll-fn", "v1", slog.Default())
			if e != nil || err != nil {
				t.Errorf("%v, %v", e, err)
			}
			e.Tell(events.Span{Name: "visit"}) // a nil exporter takes it all the same
			if err := e.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestProtocolThatIsNotSpokenIsRefused(t *testing.T) {
	_, err := New(t.Context(), environ(t, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
		"roll-fn", "v1", slog.Default())
	if err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_PROTOCOL") || !strings.Contains(err.Error(), "http/protobuf") {
		t.Errorf("%v", err)
	}
}

// TestSpansOfAChainHangTogether tells the spans of three hops and one repeated
// delivery, as trigger and function do.
func TestSpansOfAChainHangTogether(t *testing.T) {
	c := collector.New()
	defer c.Close()
	e, err := New(t.Context(), environ(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL), "roll-fn", "v1", slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	asked := events.NewDiverged(target, events.Diverged{UID: "u"}, at)
	first := events.NewContinue(target, 1, at, at, &asked)
	second := events.NewContinue(target, 2, at, at, &first)
	e.Tell(events.Span{Name: "ask", Own: events.TraceOf(&asked), Start: at, End: at.Add(time.Second)})
	e.Tell(events.Span{Name: "visit", Parent: events.TraceOf(&asked), Own: events.TraceOf(&first), Start: at, End: at.Add(time.Second)})
	e.Tell(events.Span{Name: "visit", Parent: events.TraceOf(&first), Own: events.TraceOf(&second), Start: at, End: at.Add(time.Second),
		Attrs: []slog.Attr{slog.String("set", "ns/etcd"), slog.String("reason", "")}, Failure: "it broke"})
	e.Tell(events.Span{Name: "visit", Parent: events.TraceOf(&second), Start: at, End: at.Add(time.Second)})
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := c.Spans()
	if len(spans) != 4 {
		t.Fatalf("%d spans: %+v", len(spans), spans)
	}
	for i, s := range spans {
		parent := ""
		if i > 0 {
			parent = spans[i-1].ID
		}
		if s.Parent != parent || s.Trace != spans[0].Trace || s.Service != "roll-fn" {
			t.Errorf("span %d: %+v", i, s)
		}
	}
	if got := spans[2]; got.Failure != "it broke" || got.Attrs["etcdroll.set"] != "ns/etcd" {
		t.Errorf("%+v", got)
	}
	if _, has := spans[2].Attrs["etcdroll.reason"]; has {
		t.Error("an empty attribute was sent")
	}
}

// A collector that is away costs a line in the log and no time.
func TestCollectorThatIsAwayDelaysNobody(t *testing.T) {
	c := collector.New()
	c.Close() // nobody listens there any more
	var log bytes.Buffer
	e, err := New(t.Context(), environ(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_EXPORTER_OTLP_TIMEOUT", "100"), "roll-fn", "v1",
		slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for range 5000 { // more than the queue holds
		e.Tell(events.Span{Name: "visit", Start: start, End: start})
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("telling took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_ = e.Close(ctx) // whatever it says, it ends
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("the end took %s", took)
	}
}
