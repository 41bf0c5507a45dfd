package otlp

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"
)

// ownKey is the context key of the ids that a span shall take.
type ownKey struct{}

// ids gives a span the ids that its event already carries. Those are derived
// from the event's id, so that a repeated delivery is seen as the same work,
// and whoever answers the event finds its parent.
type ids struct{}

func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if own, ok := ctx.Value(ownKey{}).(trace.SpanContext); ok && own.IsValid() {
		return own.TraceID(), own.SpanID()
	}
	var t trace.TraceID
	_, _ = rand.Read(t[:]) // never fails: it ends the process instead
	return t, newSpanID()
}

func (ids) NewSpanID(ctx context.Context, of trace.TraceID) trace.SpanID {
	if own, ok := ctx.Value(ownKey{}).(trace.SpanContext); ok && own.IsValid() && own.TraceID() == of {
		return own.SpanID()
	}
	return newSpanID()
}

func newSpanID() trace.SpanID {
	var s trace.SpanID
	_, _ = rand.Read(s[:])
	return s
}
