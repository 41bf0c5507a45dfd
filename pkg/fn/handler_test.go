package fn

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdroll/etcdroll/pkg/events"
)

func TestKN10_OnlyWhatCannotBeReadIsTheSendersFault(t *testing.T) {
	binary := func(change func(*event.Event)) func(*http.Request) {
		return func(r *http.Request) {
			e := diverged()
			change(&e)
			*r = *request(t, e)
		}
	}
	body := func(text string) func(*http.Request) {
		return func(r *http.Request) { r.Body = http.NoBody; *r = *newRequest(text, r.Header) }
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"GET":                {func(r *http.Request) { r.Method = http.MethodGet }, http.StatusMethodNotAllowed},
		"no event":           {func(r *http.Request) { r.Header = http.Header{"Content-Type": {"text/plain"}} }, http.StatusUnsupportedMediaType},
		"a batch":            {func(r *http.Request) { r.Header = http.Header{"Content-Type": {"application/cloudevents-batch+json"}} }, http.StatusUnsupportedMediaType},
		"too large":          {body(strings.Repeat("x", maxBody+1)), http.StatusRequestEntityTooLarge},
		"no subject":         {binary(func(e *event.Event) { e.SetSubject("") }), http.StatusBadRequest},
		"subject elsewhere":  {binary(func(e *event.Event) { e.SetSubject("db/../x") }), http.StatusBadRequest},
		"sequence no number": {binary(func(e *event.Event) { e.SetExtension(events.ExtSequence, "many") }), http.StatusBadRequest},
		"structured nonsense": {func(r *http.Request) {
			*r = *newRequest("{", http.Header{"Content-Type": {"application/cloudevents+json"}})
		}, http.StatusBadRequest},
		"KN-15 namespace": {binary(func(e *event.Event) { e.SetSubject("elsewhere/etcd") }), http.StatusForbidden},
	} {
		w := newWorld(3).outdated()
		r := request(t, diverged())
		c.change(r)
		if got := serve(t, handler(w), r); got.code != c.want {
			t.Errorf("%s: %d %s", name, got.code, got.text)
		}
		if len(w.calls) > 0 {
			t.Errorf("%s: %v", name, w.calls)
		}
	}
}

func newRequest(body string, header http.Header) *http.Request {
	r, _ := http.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header = header
	return r
}

func TestStructuredEventIsTakenLikeABinaryOne(t *testing.T) {
	w := newWorld(3).outdated()
	e := diverged()
	text, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	r := newRequest(string(text), http.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}})
	if got := serve(t, handler(w), r); got.code != http.StatusAccepted || len(w.patches) != 1 {
		t.Errorf("%d, %d patches", got.code, len(w.patches))
	}
}

func TestKN02_TypeThatIsNotOursGetsNoActionAndNoReply(t *testing.T) {
	fact := events.NewFact(target, events.Stepped{Seq: 1}, noon, nil)
	foreign := diverged()
	foreign.SetType("com.example.anything")
	for _, e := range []event.Event{fact, foreign} {
		w := newWorld(3).outdated()
		if got := post(t, handler(w), e, preferReply); got.code != http.StatusOK || got.event != nil || len(w.calls) > 0 {
			t.Errorf("%s: %d, %v, calls %v", e.Type(), got.code, got.event, w.calls)
		}
	}
}

func TestKN15_SetThatIsNotOptedInIsNotTouched(t *testing.T) {
	w := newWorld(3).outdated()
	delete(w.set.Labels, events.LabelManaged)
	if got := post(t, handler(w), diverged(), preferReply); got.code != http.StatusForbidden || len(w.patches) > 0 {
		t.Errorf("%d, patches %d", got.code, len(w.patches))
	}
	if len(w.calls) != 1 {
		t.Errorf("more was read than the set: %v", w.calls)
	}
}

func TestKN15_EventAsksForALookAndCarriesNothingElse(t *testing.T) {
	plain, forged := newWorld(3).outdated(), newWorld(3).outdated()
	plain.leader, forged.leader = 0, 0
	post(t, handler(plain), diverged())
	e := diverged()
	if err := e.SetData(event.ApplicationJSON, []byte(`{"force":true,"endpoints":["http://evil:1"],"partition":0,"victim":0,"targetRevision":"etcd-a"}`)); err != nil {
		t.Fatal(err)
	}
	e.SetExtension("partition", "0")
	post(t, handler(forged), e)
	if partition(plain.set) != 2 || partition(forged.set) != 2 || len(forged.patches) != 1 || string(forged.patches[0].Body) != string(plain.patches[0].Body) {
		t.Errorf("the payload changed the step: %s", forged.patches[0].Body)
	}
}

func TestCG11_IdleSetCostsThreeKindsOfReadAndNothingElse(t *testing.T) {
	w := newWorld(3)
	post(t, handler(w), diverged()) // marks it converged once
	w.calls, w.probes = nil, 0
	for range 3 {
		if got := post(t, handler(w), diverged(), preferReply); got.code != http.StatusOK || got.event != nil {
			t.Fatalf("idle set answers %d %s", got.code, got.kind())
		}
	}
	if w.probes != 0 || w.count("get set") != 3 || w.count("get pod etcd-0") != 3 || len(w.calls) != 12 {
		t.Errorf("probes %d, calls %v", w.probes, w.calls)
	}
}

// A step that gives up a pod reads the other pods once more, right before.
func TestStepReadsOneSetItsPodsAndItsMembersOnce(t *testing.T) {
	w := newWorld(3).outdated()
	post(t, handler(w), diverged())
	if w.probes != 1 || w.count("get set") != 1 || w.count("get pod etcd-0") != 2 || w.count("get pod etcd-1") != 2 || w.count("get pod etcd-2") != 1 || w.count("list budgets") != 1 {
		t.Errorf("probes %d, calls %v", w.probes, w.calls)
	}
}

func TestSteppedAnswersTheContinuationOnlyToWhomPrefersIt(t *testing.T) {
	w := newWorld(3).outdated()
	got := post(t, handler(w), diverged(), preferReply)
	if got.kind() != events.TypeContinue || got.seq(t) != 1 {
		t.Fatalf("%d %s", got.code, got.kind())
	}
	if _, has := got.event.Extensions()[events.ExtNotBefore]; !has || got.event.Subject() != "db/etcd" {
		t.Errorf("event %v", got.event)
	}
	if partition(w.set) != 2 {
		t.Errorf("partition %d", partition(w.set))
	}
	again := newWorld(3).outdated()
	if got := post(t, handler(again), diverged()); got.code != http.StatusAccepted || got.event != nil || partition(again.set) != 2 {
		t.Errorf("without Prefer: %d %s", got.code, got.kind())
	}
}

func TestTransientFaultsAreNeverTheSendersFault(t *testing.T) {
	broken := errors.New("connection refused")
	for call, err := range map[string]error{
		"get set":        broken,
		"get pod etcd-1": broken,
		"list budgets":   apierrors.NewTooManyRequests("slow down", 1),
		"patch set":      forbidden("statefulsets"),
	} {
		w := newWorld(3).outdated()
		w.fails[call] = []error{err}
		got := post(t, handler(w), diverged(), preferReply)
		if got.code != http.StatusServiceUnavailable || len(w.patches) > 0 || len(w.moves) > 0 {
			t.Errorf("%s: %d %s", call, got.code, got.text)
		}
	}
}

func TestCG10_MissingRightIsNamedWithVerbAndResource(t *testing.T) {
	for call, names := range map[string]string{"get set": "get statefulset", "get pod etcd-0": "get pod", "patch set": "patch statefulset"} {
		w := newWorld(3).outdated()
		w.fails[call] = []error{forbidden("x")}
		if got := post(t, handler(w), diverged()); got.code != http.StatusServiceUnavailable || !strings.Contains(got.text, names) || !strings.Contains(got.text, "forbidden") {
			t.Errorf("%s: %d %s", call, got.code, got.text)
		}
	}
}

func TestGoneSetIsNothingToDo(t *testing.T) {
	w := newWorld(3)
	w.set = nil
	if got := post(t, handler(w), diverged(), preferReply); got.code != http.StatusOK || got.event != nil {
		t.Errorf("%d %s", got.code, got.kind())
	}
}

func TestFactsAreToldOncePerChange(t *testing.T) {
	w := newWorld(3).outdated()
	*w.members[1] = unreachable()
	got := post(t, handler(w), diverged(), preferReply)
	if got.kind() != events.TypeBlocked || w.note(t, events.AnnotationPhase) != events.PhaseBlocked {
		t.Fatalf("%d %s", got.code, got.kind())
	}
	if got := post(t, handler(w), diverged(), preferReply); got.code != http.StatusAccepted || got.event != nil || len(w.patches) != 1 {
		t.Errorf("told again: %d %s, %d patches", got.code, got.kind(), len(w.patches))
	}
}

func TestConvergedIsToldAndPartitionHandedBackInOneRequest(t *testing.T) {
	w := newWorld(3)
	w.set.ManagedFields = append(w.set.ManagedFields, fieldsEntry("kubectl", claim), fieldsEntry(events.FieldManager, claim))
	w.set.Annotations[events.AnnotationRelease] = "token-1"
	got := post(t, handler(w), diverged(), preferReply)
	if got.kind() != events.TypeConverged {
		t.Fatalf("%d %s", got.code, got.kind())
	}
	ours, others := partitionOwners(w.set.ManagedFields)
	if ours || len(others) != 1 || len(w.patches) != 1 {
		t.Errorf("claims: ours %t, others %v, %d patches", ours, others, len(w.patches))
	}
	if w.note(t, events.AnnotationConvergedRevision) != oldRevision || w.note(t, events.AnnotationConverged) != "token-1" || w.note(t, events.AnnotationPhase) != events.PhaseConverged {
		t.Errorf("annotations %v", w.set.Annotations)
	}
}

func TestNoAnswerTakesLongerThanMaxWaitPlusTenSeconds(t *testing.T) {
	if lookTime+actTime > lastTime || lastTime+recordTime/2 > 10*time.Second {
		t.Error("the parts of a request add up to more than ten seconds")
	}
}
