package fn

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

const (
	// maxBody is far above any event of ours; hints carry a whole object.
	maxBody = 64 << 10

	// A whole request stays below MaxWait + 10 s. Of the ten, looking gets
	// lookTime, and no step is begun that has less than actTime left.
	lookTime = 8 * time.Second
	actTime  = 1500 * time.Millisecond
	lastTime = 9500 * time.Millisecond

	// maxRounds is how often a lost race is decided anew.
	maxRounds = 3
)

// Handler answers events: one guarded step for each.
type Handler struct {
	Observer   Observer
	Actor      Actor
	Namespaces Namespaces
	MaxWait    time.Duration // how long to poll inside a request while waiting
	Sink       Sender        // nil: continuations are the reply
	Clock      Clock
	Log        *slog.Logger
	Instance   string          // who reports, in Events
	Stopping   <-chan struct{} // closed when the process shall end; nil never
	Spans      events.Spans    // told of each event that was taken; nil tells nobody

	lookouts lookouts
}

// Namespaces are those in which the function acts. The zero value allows none.
type Namespaces struct {
	All   bool
	Named map[string]bool
}

// Allow says whether a set in the namespace may be touched.
func (n Namespaces) Allow(namespace string) bool { return n.All || n.Named[namespace] }

// errStopped ends the polling of a function that is about to go.
var errStopped = errors.New("the function is shutting down")

// ServeHTTP takes one event.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.Clock()
	parent, request, refusal := h.read(r)
	if refusal != nil {
		level := slog.LevelInfo
		if refusal.Status == http.StatusOK {
			level = slog.LevelDebug // of a foreign type; there may be many
		}
		h.Log.Log(r.Context(), level, "event not taken", "status", refusal.Status, "type", oneLine(refusal.Type, 80), "why", oneLine(refusal.Text, 300))
		refusal.write(r.Context(), w)
		return
	}
	ask := toAsk(request)
	v := h.visit(r.Context(), request.Target, ask, start)
	after := context.WithoutCancel(r.Context())
	var told sync.WaitGroup
	told.Go(func() { recordEvents(after, h.Actor.API, v, h.Clock(), h.Instance, h.Log) })
	if h.Sink != nil {
		h.post(after, v, ask, parent)
	}
	a := v.answer(ask, h.Sink == nil && wantsReply(r.Header), h.Clock(), parent)
	a.deliver(after, w)
	told.Wait() // the answer does not wait for what only people read, and the process does
	end := h.Clock()
	logVisit(h.Log, request, v, a.Status, end.Sub(start))
	if h.Spans != nil {
		h.Spans.Tell(v.span(request, parent, v.next(ask, end, parent), start, end))
	}
}

// read takes of the request what is believed, or says how it is refused. An
// event that asks for nothing is a success without an answer, or replies
// would come round again.
func (h *Handler) read(r *http.Request) (*event.Event, events.Request, *Answer) {
	if r.Method != http.MethodPost {
		return nil, events.Request{}, &Answer{Status: http.StatusMethodNotAllowed, Text: "only POST"}
	}
	e, err := events.Decode(r.Header, r.Body, maxBody)
	switch {
	case errors.Is(err, events.ErrTooLarge):
		return nil, events.Request{}, &Answer{Status: http.StatusRequestEntityTooLarge, Text: err.Error()}
	case errors.Is(err, events.ErrCutOff):
		return nil, events.Request{}, &Answer{Status: http.StatusServiceUnavailable, Text: err.Error()}
	case errors.Is(err, events.ErrNotEvent):
		return nil, events.Request{}, &Answer{Status: http.StatusUnsupportedMediaType, Text: err.Error()}
	case err != nil:
		return nil, events.Request{}, &Answer{Status: http.StatusBadRequest, Text: err.Error()}
	}
	request, err := events.Parse(*e)
	switch {
	case errors.Is(err, events.ErrUnknownType), errors.Is(err, events.ErrFact):
		return nil, events.Request{}, &Answer{Status: http.StatusOK, Type: e.Type()}
	case err != nil:
		return nil, events.Request{}, &Answer{Status: http.StatusBadRequest, Text: err.Error()}
	case !h.Namespaces.Allow(request.Target.Namespace):
		return nil, events.Request{}, &Answer{Status: http.StatusForbidden, Text: "namespace " + request.Target.Namespace + " is not among --namespaces"}
	}
	return e, request, nil
}

func toAsk(r events.Request) roll.Ask {
	switch r.Kind {
	case events.KindContinue:
		return roll.Ask{Kind: roll.Continue, Seq: r.Seq}
	case events.KindResume:
		return roll.Ask{Kind: roll.Resume, HaltID: r.HaltID}
	}
	return roll.Ask{Kind: roll.Look}
}

// visit looks, decides and acts, and looks again while it has to wait and
// may. It acts once.
func (h *Handler) visit(ctx context.Context, target events.Target, ask roll.Ask, start time.Time) *Visit {
	v, lookout := &Visit{}, h.lookouts.of(target, ask)
	defer lookout.end()
	for rounds := 1; ; {
		v.Outcome = Outcome{}
		look, cancel := context.WithDeadline(ctx, start.Add(h.MaxWait+lookTime))
		v.Sight, v.Decision, v.Err = h.Observer.Decide(look, target, ask)
		cancel()
		if v.Err != nil {
			return v
		}
		v.Outcome, v.Err = h.act(ctx, v, start)
		switch {
		case v.Err != nil:
			return v
		case v.Outcome.Deed == Conflict && rounds < maxRounds:
			rounds++
		case v.waits() && v.Outcome.Deed != Conflict && h.pause(ctx, v.Decision.After, start, lookout) == nil:
		default:
			return v
		}
	}
}

// act carries the decision out, detached from the caller's patience: what has
// been sent is followed up. It begins nothing that it has no time to finish.
func (h *Handler) act(ctx context.Context, v *Visit, start time.Time) (Outcome, error) {
	d := v.Decision
	if d.Write == nil && d.Effect.Kind == roll.NoEffect {
		return Outcome{}, nil
	}
	end := start.Add(h.MaxWait + lastTime)
	if d.Effect.Kind != roll.NoEffect {
		end = earlier(end, v.Sight.callsEnd())
	}
	if ctx.Err() != nil || end.Sub(h.Clock()) < actTime {
		return Outcome{Deed: Declined}, nil
	}
	detached, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	return h.Actor.Act(detached, v.Sight, d)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// pause waits before the next look, or says why there is none.
func (h *Handler) pause(ctx context.Context, d time.Duration, start time.Time, lookout *lookout) error {
	d = max(d, 100*time.Millisecond)
	if h.Clock().Add(d).After(start.Add(h.MaxWait)) {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-lookout.begin():
		return errRelieved
	case <-h.Stopping:
		return errStopped
	}
}

// post sends what would have been the reply, and the fact with it, to the
// sink. If that fails the step stands, and the watcher asks again.
func (h *Handler) post(ctx context.Context, v *Visit, ask roll.Ask, parent *event.Event) {
	if v.Err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	for _, e := range []*event.Event{v.factEvent(h.Clock(), parent), v.continuation(ask, h.Clock(), parent)} {
		if e == nil {
			continue
		}
		answer, err := h.Sink.Send(ctx, *e, false)
		if err != nil {
			h.Log.Warn("event not sent", "set", v.Sight.Target.String(), "type", e.Type(), "error", oneLine(err.Error(), 300))
		} else if !answer.Accepted() {
			h.Log.Warn("event not accepted", "set", v.Sight.Target.String(), "type", e.Type(), "status", answer.Status, "text", oneLine(answer.Text, 200))
		}
	}
}

// postTime bounds what is sent to the sink after a step.
const postTime = 2 * time.Second
