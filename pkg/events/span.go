package events

import (
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Span is one piece of work done for an event, as a tracing backend shows it. It is told after the work, so that
// nothing on the way of a step depends on tracing.
type Span struct {
	// Name is what was done, in a word.
	Name string
	// Parent is the trace of the event that asked; zero if nothing did.
	Parent Trace
	// Own is the trace of the event that came of the work: the span takes its id, so that whoever answers that event
	// continues here. Zero if no event came of it.
	Own Trace
	// Start and End bound the work.
	Start, End time.Time
	// Attrs say what it was about. Nothing in them is secret, and all of it is bounded.
	Attrs []slog.Attr
	// Failure is what went wrong, in one line; empty if nothing did.
	Failure string
}

// Spans takes what is told of spans.
type Spans interface{ Tell(Span) }

// TraceOf is the trace context that an event carries; zero if it has none, or it is not well formed, or e is nil.
func TraceOf(e *event.Event) Trace {
	if e == nil || e.Context == nil {
		return Trace{}
	}
	return traceOf(*e)
}
