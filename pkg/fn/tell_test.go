package fn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// told lists the reasons of the Events written.
func told(w *world) string {
	var list []string
	for _, e := range w.told {
		list = append(list, e.Reason)
	}
	return strings.Join(list, " ")
}

func TestEventsTellEachChangeOnce(t *testing.T) {
	for name, c := range map[string]struct {
		world *world
		want  string
	}{
		"released":  {newWorld(3).outdated(), "PodReleased"},
		"deleted":   {onDelete(newWorld(3).outdated()), "PodReleased"},
		"converged": {newWorld(3), "Converged"},
		"relocked":  {openWorld(), "Relocked"},
		"recovered": {func() *world { w := broken(newWorld(3).outdated()); w.may = true; return w }(), "Recovered"},
		"halted":    {broken(newWorld(3).outdated()), "Halted"},
		"blocked":   {func() *world { w := newWorld(3).outdated(); *w.members[0] = unreachable(); return w }(), "Blocked"},
	} {
		post(t, handler(c.world), diverged())
		if got := told(c.world); got != c.want {
			t.Errorf("%s: told %q", name, got)
		}
		for _, e := range c.world.told {
			if strings.HasPrefix(e.Note, e.Reason+":") || e.Namespace != "db" || e.Regarding.Name != "etcd" || e.Regarding.UID != setUID || e.EventTime.IsZero() || e.Action == "" || e.Note == "" ||
				len(e.Note) > 1024 || e.ReportingController == "" || e.ReportingInstance == "" || len(validation.IsDNS1123Subdomain(e.Name)) > 0 {
				t.Errorf("%s: the API server would refuse %+v", name, e)
			}
		}
	}
}

// slowTeller takes its time to write an Event.
type slowTeller struct {
	*world
	on chan struct{}
}

func (s slowTeller) RecordEvent(ctx context.Context, e *eventsv1.Event) error {
	<-s.on
	return s.world.RecordEvent(ctx, e)
}

// An Event is for people. The caller has the whole answer without it, and the
// request is not over, which a drain waits for, before it is written.
func TestTheAnswerDoesNotWaitForEvents(t *testing.T) {
	for kind, w := range map[string]*world{events.TypeContinue: newWorld(3).outdated(), events.TypeHalted: broken(newWorld(3).outdated())} {
		teller := slowTeller{w, make(chan struct{})}
		h := handler(w)
		h.Observer.API, h.Actor.API = teller, teller
		over := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(rw, r)
			close(over)
		}))
		r := request(t, diverged())
		r.Header.Set("Prefer", "reply")
		r.RequestURI = ""
		r.URL, _ = url.Parse(server.URL)
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.ContentLength != int64(len(body)) || response.Header.Get("Ce-Type") != kind {
			t.Errorf("%q: %d of %d bytes, type %q: %v", kind, len(body), response.ContentLength, response.Header.Get("Ce-Type"), err)
		}
		select {
		case <-over:
			t.Error("the request is over before its Event is written")
		default:
		}
		close(teller.on)
		<-over
		if told(w) == "" {
			t.Error("nothing was told")
		}
		server.Close()
	}
}

// A set that we see for the first time may have been created open, as one whose
// manifest leaves partition to us. That warns of nothing; a lock of ours that
// somebody has opened does.
func TestOnlyAnOpenedLockIsAWarning(t *testing.T) {
	known := openWorld()
	known.set.Annotations[events.AnnotationRollout] = `{"uid":"` + string(setUID) + `","seq":4,"cluster":"7","done":true}`
	for kind, w := range map[string]*world{"Normal": openWorld(), "Warning": known} {
		post(t, handler(w), diverged())
		if len(w.told) != 1 || w.told[0].Reason != "Relocked" || w.told[0].Type != kind {
			t.Errorf("want one of type %s: %+v", kind, w.told)
		}
	}
}

// openWorld is an idle set that somebody left open.
func openWorld() *world {
	w := newWorld(3)
	w.set.Spec.UpdateStrategy.RollingUpdate.Partition = ptr(int32(0))
	return w
}

func TestLeaderMovedIsToldWhenTheMembersConfirmIt(t *testing.T) {
	w := newWorld(3).outdated()
	w.leader = 2
	post(t, handler(w), diverged())
	if got := told(w); got != "" {
		t.Errorf("told before it is known: %q", got)
	}
	w.now = noon.Add(10 * time.Second)
	post(t, handler(w), diverged())
	if got := told(w); got != "LeaderMoved PodReleased" {
		t.Errorf("told %q", got)
	}
	names := map[string]bool{}
	for _, e := range w.told {
		names[e.Name] = true
	}
	if len(names) != len(w.told) {
		t.Error("two Events share a name")
	}
}

func TestEventThatCannotBeWrittenFailsNoStep(t *testing.T) {
	w := newWorld(3).outdated()
	w.fails["record event"] = []error{forbidden("events")}
	if got := post(t, handler(w), diverged(), preferReply); got.kind() != events.TypeContinue || partition(w.set) != 2 {
		t.Errorf("%d %s", got.code, got.kind())
	}
}

func TestOfAWriteThatIsLostOnlyTheLogTells(t *testing.T) {
	w := newWorld(3).outdated()
	w.fails["patch set"] = []error{apierrors.NewInternalError(errors.New("failed calling webhook"))}
	var log bytes.Buffer
	h := handler(w)
	h.Log = slog.New(slog.NewJSONHandler(&log, nil))
	post(t, h, diverged())
	if len(w.told) > 0 || !strings.Contains(log.String(), "failed calling webhook") || !strings.Contains(log.String(), `"lost"`) {
		t.Errorf("told %q, log %s", told(w), log.String())
	}
}

// sink remembers what was posted to it.
type sink struct {
	sent   []event.Event
	status int
	err    error
}

func (s *sink) Send(_ context.Context, e event.Event, _ bool) (events.Answer, error) {
	s.sent = append(s.sent, e)
	return events.Answer{Status: s.status}, s.err
}

func TestContinuationAndFactGoToTheSinkInsteadOfTheReply(t *testing.T) {
	w := newWorld(3).outdated()
	h, s := handler(w), &sink{status: http.StatusAccepted}
	h.Sink = s
	got := post(t, h, diverged(), preferReply)
	if got.code != http.StatusAccepted || got.event != nil {
		t.Errorf("%d %s", got.code, got.kind())
	}
	if len(s.sent) != 2 || s.sent[0].Type() != events.TypeStepped || s.sent[1].Type() != events.TypeContinue {
		t.Errorf("sent %v", s.sent)
	}
}

func TestSinkThatFailsUndoesNoStep(t *testing.T) {
	for _, s := range []*sink{{err: errors.New("no route")}, {status: http.StatusBadGateway}} {
		w := newWorld(3).outdated()
		h := handler(w)
		h.Sink = s
		if got := post(t, h, diverged()); got.code != http.StatusAccepted || partition(w.set) != 2 {
			t.Errorf("%d, partition %d", got.code, partition(w.set))
		}
	}
}

func TestHaltedFactCarriesIDAndRemedy(t *testing.T) {
	w := broken(newWorld(3).outdated())
	w.pods["etcd-2"].Spec.NodeName = "node-7"
	got := post(t, handler(w), diverged(), preferReply)
	var h events.Halted
	if err := json.Unmarshal(got.event.Data(), &h); err != nil {
		t.Fatal(err)
	}
	if h.HaltID == "" || h.HaltID != w.note(t, events.AnnotationHaltID) || h.Remedy == "" || h.Pod != "etcd-2" || h.Node != "node-7" || h.Seq != 1 {
		t.Errorf("%+v", h)
	}
}

func TestBlockedFactListsEveryObjection(t *testing.T) {
	w := newWorld(3).outdated()
	*w.members[0] = unreachable()
	got := post(t, handler(w), diverged(), preferReply)
	var b events.Blocked
	if err := json.Unmarshal(got.event.Data(), &b); err != nil {
		t.Fatal(err)
	}
	if b.Reason == "" || len(b.Objections)+b.Omitted < 3 {
		t.Errorf("%+v", b)
	}
}

func TestReceiptSumsUpTheRoll(t *testing.T) {
	w := newWorld(3)
	s, d, err := observer(w).Decide(t.Context(), target, roll.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	d.Write.Record.Last = &roll.Receipt{
		Started: noon, Finished: noon.Add(time.Minute), Steps: 8, Moves: 1, Unplanned: 2, WorstLag: 1 << 63, Attempts: map[int]int{0: 1, 2: 2},
		Pods: map[int]roll.PodRecord{2: {Began: noon, Settled: noon.Add(9 * time.Second)}, 0: {Began: noon, Settled: noon.Add(4 * time.Second)}},
	}
	v := &Visit{Sight: s, Decision: d, Outcome: Outcome{Deed: Written}}
	c := v.converged()
	if c.Steps != 8 || c.Moves != 1 || c.UnplannedElections != 2 || c.WorstLag != "9223372036854775808" || c.Attempts != 3 || len(c.Members) != 2 ||
		c.Members[0] != (events.MemberTime{Pod: "etcd-0", Seconds: 4}) || c.Members[1].Seconds != 9 || c.FinishedAt != "2026-11-30T12:01:00Z" {
		t.Errorf("%+v", c)
	}
}

func TestOneLinePerInvocationSaysWhatHappened(t *testing.T) {
	w := newWorld(3).outdated()
	w.set.Annotations[events.AnnotationConfig] = "roll\n{\"evil\":1}"
	var log bytes.Buffer
	h := handler(w)
	h.Log = slog.New(slog.NewJSONHandler(&log, nil))
	post(t, h, diverged())
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Fatalf("%d lines: %s", n, log.String())
	}
	var got map[string]any
	if err := json.Unmarshal(log.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"set", "target", "step", "reason", "partition", "leader", "term", "seq", "outcome", "rule", "durationMs", "status", "event"} {
		if _, has := got[key]; !has {
			t.Errorf("%s is missing: %s", key, log.String())
		}
	}
	if got["set"] != "db/etcd" || got["reason"] != "ConfigInvalid" || got["level"] != "WARN" {
		t.Errorf("log %v", got)
	}
}

// The budgets could not be read, which closes no gate: only the log can tell.
func TestNoteOfAGateThatPassedIsLogged(t *testing.T) {
	w := newWorld(3).outdated()
	w.fails["list budgets"] = []error{forbidden("poddisruptionbudgets")}
	var log bytes.Buffer
	h := handler(w)
	h.Log = slog.New(slog.NewJSONHandler(&log, nil))
	post(t, h, diverged())
	var got struct{ Notes string }
	if err := json.Unmarshal(log.Bytes(), &got); err != nil || !strings.Contains(got.Notes, `missing right: verb "list" on resource "poddisruptionbudgets"`) {
		t.Errorf("%v: %s", err, log.String())
	}
}

func TestErrorIsLoggedAsOne(t *testing.T) {
	w := newWorld(3).outdated()
	w.fails["get set"] = []error{errors.New("connection\nrefused")}
	var log bytes.Buffer
	h := handler(w)
	h.Log = slog.New(slog.NewJSONHandler(&log, nil))
	post(t, h, diverged())
	if !strings.Contains(log.String(), `"ERROR"`) || !strings.Contains(log.String(), "connection refused") {
		t.Errorf("log %s", log.String())
	}
}
