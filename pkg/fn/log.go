package fn

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// span tells a tracing backend what the line of the log tells people. next is
// the event that came of the visit, if any.
func (v *Visit) span(r events.Request, parent, next *event.Event, start, end time.Time) events.Span {
	s := events.Span{
		Name: "visit", Parent: events.TraceOf(parent), Own: events.TraceOf(next), Start: start, End: end,
		Attrs: []slog.Attr{slog.String("set", r.Target.String()), slog.String("event", r.Kind.String())},
	}
	if v.Sight != nil {
		s.Attrs = append(s.Attrs, decisionAttrs(v)...)
	}
	switch {
	case v.Err != nil:
		s.Failure = oneLine(v.Err.Error(), 300)
	case v.Outcome.CallErr != nil:
		s.Failure = oneLine(v.Outcome.CallErr.Error(), 300)
	}
	return s
}

// logVisit writes the one line of an invocation. Whatever came from outside
// is on one line and bounded; credentials are in none of it.
func logVisit(log *slog.Logger, r events.Request, v *Visit, status int, took time.Duration) {
	attrs := []slog.Attr{
		slog.String("set", r.Target.String()),
		slog.String("event", r.Kind.String()),
		slog.Int("status", status),
		slog.Int64("durationMs", took.Milliseconds()),
	}
	level := slog.LevelInfo
	if v.Sight != nil {
		attrs = append(attrs, decisionAttrs(v)...)
		if notes := v.notes(); notes != "" {
			attrs = append(attrs, slog.String("notes", oneLine(notes, 500)))
		}
		if v.Decision.Outcome == roll.Blocked || v.Decision.Outcome == roll.Halted {
			level = slog.LevelWarn
		}
	}
	if v.Outcome.CallErr != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("callError", oneLine(v.Outcome.CallErr.Error(), 300)))
	}
	if v.Err != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", oneLine(v.Err.Error(), 500)))
	}
	log.LogAttrs(context.Background(), level, "visit", attrs...)
}

// notes are what passed the gates and a person should know all the same.
func (v *Visit) notes() string {
	var list []string
	for _, f := range v.Decision.Verdict.Notes() {
		list = append(list, string(f.Gate)+": "+f.Note)
	}
	return strings.Join(list, "; ")
}

func decisionAttrs(v *Visit) []slog.Attr {
	d, s := v.Decision, v.Sight
	partition := s.Set.Partition
	if v.wrote() && d.Write.SetPartition {
		partition = d.Write.Partition
	}
	leader, term := leaderAndTerm(s.Snapshot)
	return []slog.Attr{
		slog.String("target", s.Set.UpdateRevision),
		slog.String("step", string(d.Step)),
		slog.String("reason", string(d.Reason)),
		slog.Int("partition", partition),
		slog.String("leader", leader),
		slog.String("term", term),
		slog.Int64("seq", v.seq()),
		slog.String("outcome", d.Outcome.String()),
		slog.String("deed", v.Outcome.Deed.String()),
		slog.String("rule", d.Rule),
		slog.String("pod", v.pod()),
		slog.String("message", oneLine(d.Message, 500)),
	}
}
