package trigger

import (
	"context"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// carryOut posts one event and returns the record as the answer leaves it. With lockOnly a continuation in the answer
// is let go: the set was asked about to be locked, and has no place in the fleet to go on with.
func (t *Trigger) carryOut(ctx context.Context, r Record, act Act, lockOnly bool) Record {
	e := t.build(r, act)
	start := t.Clock.Now()
	answer, err := t.Sink.Send(ctx, e, true)
	now := t.Clock.Now()
	outcome := classify(answer, err)
	t.Metrics.Sent(e.Type(), outcome, now.Sub(start))
	t.Health.Posted(r.Set.Key(), sinkWorks(answer, err), now)
	t.tellOutcome(r, e, outcome, answer, err)
	if t.Spans != nil {
		t.Spans.Tell(spanOf(r, act, e, outcome, detailOf(outcome, answer, err), start, now))
	}
	r = settle(r, act, outcome, answer.RetryAfter, now, t.Cadence)
	if answer.Reply != nil {
		r = t.takeReply(r, *answer.Reply, lockOnly, now)
	}
	if s := r.Assess.State; (s == Blocked || s == Halted || s == Paused) && outcome != Retry && r.Pending == nil {
		// It stands still: the place it held while being asked about is free again. Halted and paused sets are not looked
		// at soon, so that nothing else would free it.
		r.LetStart = time.Time{}
	}
	return r
}

// spanOf is what a tracing backend shows of one POST: the root of a chain for an event of our own, and a hop of the
// chain for one that is carried on.
func spanOf(r Record, act Act, e event.Event, o Outcome, failure string, start, end time.Time) events.Span {
	s := events.Span{
		Name: "ask", Own: events.TraceOf(&e), Start: start, End: end, Failure: failure,
		Attrs: []slog.Attr{
			slog.String("set", r.Set.Key()), slog.String("target", r.Set.UpdateRevision), slog.String("phase", r.Set.Phase),
			slog.String("event", e.Type()), slog.String("reason", r.Assess.Reason), slog.String("outcome", o.String()),
		},
	}
	if act == Deliver {
		s.Name, s.Parent, s.Own = "carry", events.TraceOf(&e), events.Trace{}
	}
	return s
}

// detailOf is empty for an event that was taken.
func detailOf(o Outcome, answer events.Answer, err error) string {
	if o != Retry && o != Refused {
		return ""
	}
	return detail(answer, err)
}

func (t *Trigger) build(r Record, act Act) event.Event {
	if act == Deliver {
		return r.Pending.Event
	}
	reason := r.Assess.Reason
	if reason == "" {
		reason = "the cache is behind"
	}
	return events.NewDiverged(r.Set.Target(), events.Diverged{
		UID: r.Set.UID, Generation: r.Set.Generation, TargetRevision: r.Set.UpdateRevision, Reason: reason,
		Fingerprint: r.Assess.Fingerprint, Beat: r.Beat, Seq: r.Set.Seq,
	}, t.Clock.Now())
}

// takeReply takes up a continuation of this very set and counts facts. Anything else in a reply is not believed.
func (t *Trigger) takeReply(r Record, reply event.Event, lockOnly bool, now time.Time) Record {
	t.Metrics.Replied(reply.Type())
	request, err := events.Parse(reply)
	log := t.logOf(r).With("reply", reply.Type())
	switch {
	case err != nil:
		log.Debug("reply asks for nothing", "detail", err.Error())
	case request.Kind != events.KindContinue || request.Target != r.Set.Target():
		log.Warn("reply ignored: it is no continuation of this set", "subject", reply.Subject())
	case lockOnly:
		log.Info("continuation let go", "waitsFor", r.Waiting)
	default:
		r = pend(r, continuation(reply, request, now, t.Cadence), now, t.Cadence)
	}
	return r
}

func (t *Trigger) logOf(r Record) *slog.Logger {
	return t.Log.With("set", r.Set.Key(), "target", r.Set.UpdateRevision, "seq", r.Set.Seq, "phase", r.Set.Phase)
}

// tellChange logs once when a set's state or reason changes.
func (t *Trigger) tellChange(before, after Record) {
	b, a := before.Assess, after.Assess
	if b.State == a.State && b.Reason == a.Reason && before.Set.UpdateRevision == after.Set.UpdateRevision {
		return
	}
	t.logOf(after).Info("set is "+a.State.String(), "reason", a.Reason, "outdated", a.Outdated, "open", a.Open)
}

// tellOutcome logs the first failure and the first refusal at a level that people see, the repetitions at debug.
func (t *Trigger) tellOutcome(r Record, e event.Event, o Outcome, answer events.Answer, err error) {
	log := t.logOf(r).With("event", e.Type(), "id", e.ID(), "reason", r.Assess.Reason, "status", answer.Status)
	first := r.Asked != r.Assess.Fingerprint
	switch o {
	case Retry:
		level := slog.LevelDebug
		if r.Failures == 0 {
			level = slog.LevelWarn
		}
		log.Log(context.Background(), level, "nobody has acknowledged the event; it is sent again",
			"detail", detail(answer, err), "tries", r.Failures+1)
	case Refused:
		level := slog.LevelDebug
		if first || !r.Refused {
			level = slog.LevelError
		}
		log.Log(context.Background(), level, "the sink refuses the event", "detail", detail(answer, err))
	default:
		log.Debug("event delivered", "outcome", o.String())
	}
	if answer.ReplyErr != nil {
		log.Warn("the answer's body cannot be read", "detail", answer.ReplyErr.Error())
	}
}

func detail(answer events.Answer, err error) string {
	if err != nil {
		return err.Error()
	}
	return answer.Text
}
