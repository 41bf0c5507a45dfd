package fn

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/etcdroll/etcdroll/pkg/events"
)

var target = events.Target{Namespace: "db", Name: "etcd"}

func handler(w *world) *Handler {
	return &Handler{
		Observer: *observer(w), Actor: Actor{API: w}, Namespaces: Namespaces{Named: map[string]bool{"db": true}},
		Clock: time.Now, Log: slog.New(slog.DiscardHandler), Instance: "test",
	}
}

func diverged() event.Event {
	return events.NewDiverged(target, events.Diverged{UID: string(setUID), Generation: 3, TargetRevision: newRevision}, noon)
}

func continueAt(seq int64) event.Event {
	return events.NewContinue(target, seq, noon, time.Time{}, nil)
}

// request carries the event in binary mode; each option changes it.
func request(t *testing.T, e event.Event, options ...func(*http.Request)) *http.Request {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	if err := cehttp.WriteRequest(t.Context(), binding.ToMessage(&e), r); err != nil {
		t.Fatal(err)
	}
	for _, o := range options {
		o(r)
	}
	return r
}

func preferReply(r *http.Request) { r.Header.Set("Prefer", "reply") }

// answered is what came back, checked for what holds of every answer.
type answered struct {
	code  int
	event *event.Event
	text  string
	retry string
}

func serve(t *testing.T, h http.Handler, r *http.Request) answered {
	t.Helper()
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	a := answered{code: recorder.Code, text: recorder.Body.String(), retry: recorder.Header().Get("Retry-After")}
	if e, err := events.Decode(recorder.Header(), bytes.NewReader(recorder.Body.Bytes()), 64<<10); err == nil {
		a.event = e
	}
	switch {
	case a.code == http.StatusNotFound:
		t.Error("404: a broker would retry it")
	case a.code < 300 && a.text != "" && a.event == nil:
		t.Errorf("a 2xx with a body that is no event: %q", a.text)
	case a.code == http.StatusServiceUnavailable && a.retry == "":
		t.Error("503 without Retry-After")
	case a.event != nil && a.code != http.StatusOK:
		t.Errorf("an event with status %d", a.code)
	}
	return a
}

func post(t *testing.T, h *Handler, e event.Event, options ...func(*http.Request)) answered {
	t.Helper()
	return serve(t, h, request(t, e, options...))
}

func (a answered) kind() string {
	if a.event == nil {
		return ""
	}
	return a.event.Type()
}

// seq is the sequence of the event in the answer.
func (a answered) seq(t *testing.T) int64 {
	t.Helper()
	text, _ := a.event.Extensions()[events.ExtSequence].(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("sequence %q: %v", text, err)
	}
	return n
}
