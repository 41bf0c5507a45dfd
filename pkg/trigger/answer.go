package trigger

import (
	"net/http"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Outcome classifies what became of one POST.
type Outcome int

const (
	// Retry: nobody has acknowledged the event; it must be sent again.
	Retry Outcome = iota
	// Taken: somebody has the event.
	Taken
	// Verdict: the function itself says that there is nothing to do.
	Verdict
	// Refused: the sink does not want this event, now or later.
	Refused
)

// String is the label used in metrics.
func (o Outcome) String() string { return [...]string{"retry", "taken", "verdict", "refused"}[o] }

// classify follows the contract of the function's answers and, for what a proxy or broker may say in its place, the
// retry rules of Knative's own delivery. The function never says 404; who does is a route that is not there yet.
func classify(a events.Answer, err error) Outcome {
	switch {
	case err != nil:
		return Retry
	case a.Status == http.StatusOK && a.Reply == nil && a.ReplyErr == nil && a.Text == "":
		return Verdict
	case a.Accepted():
		return Taken
	case a.Status >= 500:
		return Retry
	}
	switch a.Status {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly,
		http.StatusTooManyRequests:
		return Retry
	}
	return Refused
}

// sinkWorks says whether an answer shows that the sink does its work. The function's own refusals do.
func sinkWorks(a events.Answer, err error) bool {
	if err != nil {
		return false
	}
	switch a.Status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType:
		return true
	}
	return a.Accepted()
}

// settle is the record after a request has been answered, or not. It is pure.
func settle(r Record, act Act, o Outcome, retryAfter time.Duration, now time.Time, c Cadence) Record {
	if o == Retry {
		r.Failures++
		r.RetryAt = now.Add(max(c.retry(r.Failures), min(retryAfter, c.RetryAfterMost)))
		return r
	}
	r.Failures, r.RetryAt, r.Forced = 0, time.Time{}, false
	if r.Asked != r.Assess.Fingerprint {
		r.Asked, r.Repeats, r.Verdicts = r.Assess.Fingerprint, 0, 0
	}
	r.AskedAt, r.Refused = now, o == Refused
	r.Repeats++
	if o == Verdict {
		r.Verdicts++
	} else {
		r.Verdicts = 0
	}
	if act == Deliver {
		r.LastSeq, r.Pending = r.Pending.Seq, nil
	} else {
		r.Beat++
	}
	return r
}

// pend takes a continuation up. The higher sequence wins; of two with the same the sooner one, so that there is never
// more than one chain. A continuation whose step has been taken already is dropped.
func pend(r Record, next Continuation, now time.Time, c Cadence) Record {
	if next.Seq < r.Set.Seq {
		return r
	}
	if p := r.Pending; p != nil && (p.Seq > next.Seq || (p.Seq == next.Seq && !next.Due.Before(p.Due))) {
		return r
	}
	// A chain that only waits must not spin, whatever time it asks for.
	if soonest := now.Add(c.Gap); next.Seq <= r.LastSeq && next.Due.Before(soonest) {
		next.Due = soonest
	}
	r.Pending = &next
	return r
}

// continuation reads a reply. The wait is the difference of two times of the sender's clock, so that the two clocks
// need not agree.
func continuation(e event.Event, req events.Request, now time.Time, c Cadence) Continuation {
	wait := time.Duration(0)
	if !req.NotBefore.IsZero() {
		from := e.Time()
		if from.IsZero() {
			from = now
		}
		wait = min(max(req.NotBefore.Sub(from), 0), c.NotBeforeMost)
	}
	return Continuation{Event: e, Seq: req.Seq, Due: now.Add(wait)}
}

// observe is the record after another look at the set. It is pure.
func observe(r Record, set *SetView, a Assessment, now time.Time, c Cadence) Record {
	if r.Set.UID != "" && r.Set.UID != set.UID {
		// Another set by the same name: nothing we remember is about it, and sequences start anew.
		r = Record{Set: unseen, Beat: r.Beat}
	}
	if r.Set.UID == "" || r.Set.Seq != set.Seq || r.Assess.Outdated != a.Outdated {
		r.Progress = now
	}
	r.Since = begin(r.Since, a.Diverged, now)
	r.OpenSince = begin(r.OpenSince, a.Open, now)
	if r.Pending != nil && r.Pending.Seq < set.Seq {
		r.Pending = nil
	}
	if r.Assess.State != a.State {
		// Every standstill is asked about at its own pace from the start. A halt was written by the function, after
		// it had looked: telling it of the same state again would be idle.
		r.Repeats, r.Verdicts = min(r.Repeats, 1), 0
		if a.State == Halted {
			r.Repeats = changeTries
		}
	}
	r.Queued = begin(r.Queued, a.Diverged, now)
	r = releasePlace(r, a, now, c)
	if !a.Diverged || a.Rolling {
		r.Waiting = ""
	}
	r.Set, r.Assess = set, a
	return r
}

func begin(since time.Time, is bool, now time.Time) time.Time {
	switch {
	case !is:
		return time.Time{}
	case since.IsZero():
		return now
	}
	return since
}

// releasePlace takes the place in the fleet back from a set that holds one by rolling, that has no use for it, or that
// has not begun within its grace; the last goes to the end of the queue.
func releasePlace(r Record, a Assessment, now time.Time, c Cadence) Record {
	switch {
	case r.LetStart.IsZero():
	case a.Rolling, !a.Diverged, a.State == Halted, a.State == Paused:
		r.LetStart = time.Time{}
	case now.Sub(r.LetStart) > c.Grace:
		r.LetStart, r.Queued = time.Time{}, now
	}
	return r
}
