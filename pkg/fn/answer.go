package fn

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// retryAfter is how long a caller is asked to wait, in seconds, when the
// function could not look or write.
const retryAfter = "2"

// Answer is what the caller gets. A 2xx answer has an event or nothing: a
// broker takes any other body for a fault.
type Answer struct {
	Status int
	Event  *event.Event
	Text   string // for people, with a status that is no success
	Type   string // of an event that asks for nothing, for the log
}

// continuation is the event that keeps the chain going; nil when it ends
// here. Whoever wrote has let every other chain die and goes on; whoever only
// waits goes on if the chain is the current one.
func (v *Visit) continuation(ask roll.Ask, at time.Time, parent *event.Event) *event.Event {
	var goes bool
	switch {
	case v.wrote():
		goes = v.Decision.Outcome == roll.Stepped || v.Decision.Outcome == roll.Waiting
	case v.waits():
		goes = ask.Kind == roll.Continue && ask.Seq == v.Sight.Record.Seq
	}
	if !goes {
		return nil
	}
	e := events.NewContinue(v.Sight.Target, v.seq(), at, at.Add(v.Decision.After), parent)
	return &e
}

// waits says that something is under way and nothing was written. A write
// that was not made for whatever reason leaves the world as it was.
func (v *Visit) waits() bool {
	switch v.Outcome.Deed {
	case Declined, Conflict, Lost:
		return true
	case Nothing, Called:
		return v.Decision.Outcome == roll.Waiting
	}
	return false
}

// status is the answer without an event.
func (v *Visit) status() int {
	switch {
	case v.Err != nil:
		return http.StatusServiceUnavailable
	case v.Decision.Reason == roll.ReasonNotManaged:
		return http.StatusForbidden
	case v.waits():
		return http.StatusAccepted
	}
	switch v.Decision.Outcome {
	case roll.Stepped, roll.Waiting, roll.Blocked:
		return http.StatusAccepted
	}
	return http.StatusOK
}

// answer says what a caller hears: at most one event.
func (v *Visit) answer(ask roll.Ask, wantsReply bool, at time.Time, parent *event.Event) Answer {
	a := Answer{Status: v.status()}
	switch {
	case v.Err != nil:
		a.Text = v.Err.Error()
	case a.Status == http.StatusForbidden:
		a.Text = v.Decision.Message
	case wantsReply:
		a.Event = v.next(ask, at, parent)
	}
	if a.Event != nil {
		a.Status = http.StatusOK
	}
	return a
}

// next is the event that comes of a visit, the continuation before the fact;
// nil if none does.
func (v *Visit) next(ask roll.Ask, at time.Time, parent *event.Event) *event.Event {
	if v.Err != nil {
		return nil
	}
	if e := v.continuation(ask, at, parent); e != nil {
		return e
	}
	return v.factEvent(at, parent)
}

func (v *Visit) factEvent(at time.Time, parent *event.Event) *event.Event {
	f := v.fact()
	if f == nil {
		return nil
	}
	e := events.NewFact(v.Sight.Target, f, at, parent)
	return &e
}

// deliver sends the answer whole and with its length, so that the caller has it
// although the handler goes on.
func (a Answer) deliver(ctx context.Context, w http.ResponseWriter) {
	whole := &letter{header: w.Header(), status: http.StatusOK}
	a.write(ctx, whole)
	w.Header().Set("Content-Length", strconv.Itoa(whole.body.Len()))
	w.WriteHeader(whole.status)
	_, _ = w.Write(whole.body.Bytes())        // who has gone away will ask again
	_ = http.NewResponseController(w).Flush() // whoever cannot waits for the end of the handler
}

// letter is an answer before it is sent.
type letter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (l *letter) Header() http.Header            { return l.header }
func (l *letter) WriteHeader(status int)         { l.status = status }
func (l *letter) Write(text []byte) (int, error) { return l.body.Write(text) }

// write makes the answer.
func (a Answer) write(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if a.Event != nil {
		// The event is one of our own, built a moment ago; it encodes.
		if err := cehttp.WriteResponseWriter(ctx, binding.ToMessage(a.Event), a.Status, w); err == nil {
			return
		}
	}
	switch a.Status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfter)
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	}
	if a.Text == "" {
		w.WriteHeader(a.Status)
		return
	}
	http.Error(w, oneLine(a.Text, 500), a.Status)
}

// wantsReply reads the header by which a sender offers to carry the answer's
// event on.
func wantsReply(h http.Header) bool {
	for _, line := range h.Values("Prefer") {
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
			if strings.EqualFold(word, "reply") {
				return true
			}
		}
	}
	return false
}
