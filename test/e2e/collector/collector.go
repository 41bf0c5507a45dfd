// Package collector is an OpenTelemetry collector for tests: it takes OTLP over
// HTTP and keeps the spans.
package collector

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is what tests look at.
type Span struct {
	Service, Name     string
	Trace, ID, Parent string
	Failure           string
	Attrs             map[string]string
}

// Collector keeps what it is sent.
type Collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []Span
}

// New listens on loopback until Close.
func New() *Collector {
	c := &Collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	return c
}

// Spans are those that have come in so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	request, err := decode(r)
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "not a trace", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		var service string
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, read(service, s))
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func decode(r *http.Request) (*collectortrace.ExportTraceServiceRequest, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	request := &collectortrace.ExportTraceServiceRequest{}
	return request, proto.Unmarshal(data, request)
}

func read(service string, s *tracev1.Span) Span {
	span := Span{
		Service: service, Name: s.Name, Attrs: map[string]string{},
		Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId),
	}
	if s.Status.GetCode() == tracev1.Status_STATUS_CODE_ERROR {
		span.Failure = s.Status.Message
	}
	for _, a := range s.Attributes {
		span.Attrs[a.Key] = a.Value.GetStringValue()
	}
	return span
}
