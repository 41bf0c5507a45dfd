package knative

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/knative/mesh"
)

// start changes the template and counts from there.
func (w *world) start(t *testing.T, change func(*corev1.PodTemplateSpec)) {
	t.Helper()
	w.mark, w.since = w.observer.Mark(), time.Now()
	must(t, w.set.Apply(w.ctx, etcdset.Template(change)))
	must(t, w.observer.Until(w.ctx, formsWithin, "the change is not seen", func(v observer.View) bool {
		return v.Set.Observed == v.Set.Generation && v.Set.Update != v.Set.Annotations[events.AnnotationConvergedRevision]
	}))
}

// settled waits for the end of the roll and checks what must hold however it
// went: no election that was not announced, nothing replaced while it led, one
// deletion per pod, converged and locked.
func (w *world) settled(t *testing.T) observer.Report {
	t.Helper()
	must(t, w.observer.Until(w.ctx, rollsWithin, "the roll has not ended", observer.View.Settled))
	r, err := w.observer.Report(w.mark)
	must(t, err)
	if r.Unplanned != 0 || len(r.Led) != 0 || r.PodsDown > 1 || r.MembersDown > 1 {
		t.Errorf("%d unplanned elections (%+v, announced %+v), led: %v, at most %d pods and %d members down",
			r.Unplanned, r.Elections, r.Announced, r.Led, r.PodsDown, r.MembersDown)
	}
	for i := range r.Final.Set.Replicas {
		if r.Deletions[i] != 1 {
			t.Errorf("pod %d was deleted %d times, want once", i, r.Deletions[i])
		}
	}
	if want := []int{3, 2, 3, 1, 3, 0, 3}; !slices.Equal(r.Partitions, want) {
		t.Errorf("partition went %v, want %v", r.Partitions, want)
	}
	tally := w.writer.Tally(r.From)
	hops := w.asked()
	t.Logf("%s: %d steps, %d moves, %d unplanned, longest write gap %s, %d failed writes; function asked %d times (%d of them continuations by the broker)",
		r.To.Sub(r.From).Round(100*time.Millisecond), r.Steps, r.Planned, r.Unplanned, tally.Longest.Took.Round(time.Millisecond), tally.Failed,
		len(hops), len(ofType(hops, events.TypeContinue)))
	return r
}

// asked are the requests to the function since the roll began.
func (w *world) asked() []mesh.Hop { return w.mesh.Hops(w.functionHost(), w.since) }

func ofType(hops []mesh.Hop, eventType string) []mesh.Hop {
	return slices.DeleteFunc(slices.Clone(hops), func(h mesh.Hop) bool { return h.Type != eventType })
}

// Every event goes trigger, broker, function, broker: the function's answer is
// what brings the next request.
func TestARollThroughTheBroker(t *testing.T) {
	w := aWorld(t)
	must(t, w.set.LeadWith(w.ctx, 2))
	w.start(t, etcdset.ToVersion("3.7.3"))
	r := w.settled(t)
	if r.Planned != 2 {
		t.Errorf("%d moves, want 2", r.Planned)
	}
	hops := w.asked()
	if replies := len(ofType(hops, events.TypeContinue)); replies < r.Final.Set.Replicas {
		t.Errorf("%d continuations came back through the broker for %d steps", replies, r.Steps)
	}
	if n := len(w.mesh.Hops(w.deadLetterHost(), w.since)); n != 0 {
		t.Errorf("%d dead letters", n)
	}
	for _, h := range ofType(hops, events.TypeContinue) {
		if h.Took > 30*time.Second {
			t.Errorf("a request took %s, which is near the broker's timeout", h.Took)
		}
	}
}

// Facts pass through the broker and are not brought back to the function.
func TestFactsDoNotComeBack(t *testing.T) {
	w := aWorld(t)
	for _, h := range w.mesh.Hops(w.functionHost(), time.Time{}) {
		switch h.Type {
		case events.TypeDiverged, events.TypeContinue, events.TypeResume:
		default:
			t.Errorf("the function was asked with %q", h.Type)
		}
	}
}

// The function is out of order at first, then dies in the middle of a request,
// twice, and one answer is kept from the broker, so that it sends again what has
// been done.
func TestTheBrokerSendsAgain(t *testing.T) {
	w := aWorld(t)
	var mu sync.Mutex
	var refused, lost string
	var killed []string
	w.mesh.Spoil(func(h mesh.Hop) mesh.Fate {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case h.Host != w.functionHost() || h.Type != events.TypeContinue || h.ID == refused || h.ID == lost || slices.Contains(killed, h.ID):
			return mesh.Fate{}
		case refused == "":
			refused = h.ID
			return mesh.Fate{Refuse: http.StatusServiceUnavailable}
		case lost == "":
			lost = h.ID
			return mesh.Fate{LoseAnswer: true}
		case len(killed) < 2:
			return mesh.Fate{After: 10 * time.Millisecond, Then: func() {
				mu.Lock()
				killed = append(killed, h.ID)
				mu.Unlock()
				w.function.Kill()
				if err := w.function.Start(); err != nil {
					t.Errorf("the function does not start again: %v", err)
				}
			}}
		}
		return mesh.Fate{}
	})
	must(t, w.set.LeadWith(w.ctx, 2))
	w.start(t, etcdset.WithEnv("ROLL", "again"))
	w.settled(t)
	mu.Lock()
	defer mu.Unlock()
	if refused == "" || lost == "" || len(killed) == 0 {
		t.Fatalf("refused %q, lost %q, killed at %v: not all of it happened", refused, lost, killed)
	}
	for _, id := range append([]string{refused, lost}, killed...) {
		if only, again := w.sentAgain(id); !again && (only.Status == 0 || only.Status >= 500 || id == lost) {
			t.Errorf("event %s was not brought again after %d", id, only.Status)
		}
	}
}

// sentAgain waits until the broker has brought the event again, which may be
// after the roll; else it gives the only delivery there was. One that was answered
// before the function died needs no other, and is not waited for long.
func (w *world) sentAgain(id string) (only mesh.Hop, again bool) {
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
		hops := slices.DeleteFunc(w.asked(), func(h mesh.Hop) bool { return h.ID != id })
		switch {
		case len(hops) > 1:
			return mesh.Hop{}, true
		case len(hops) == 1:
			only = hops[0]
		}
		if only.Status != 0 && only.Status < 500 && time.Since(began) > 5*time.Second {
			break
		}
	}
	return only, false
}

// Answers are lost on their way back, and the broker believes that there were
// none: nobody sends a continuation any more. The trigger asks again. All of them
// are lost, since two of the trigger's events may be under way at once, and each
// begins a chain.
func TestACutChainIsTakenUpAgain(t *testing.T) {
	w := aWorld(t)
	w.mesh.Spoil(func(h mesh.Hop) mesh.Fate { return mesh.Fate{DropReply: h.Host == w.functionHost()} })
	w.start(t, etcdset.WithEnv("ROLL", "cut"))
	w.settled(t)
	asked := w.asked()
	cut := slices.IndexFunc(asked, func(h mesh.Hop) bool { return h.Reply == events.TypeContinue })
	if cut < 0 {
		t.Fatal("no reply was dropped")
	}
	after := asked[cut+1:]
	if len(after) == 0 {
		t.Error("nobody asked after the cut")
	}
	for _, h := range after {
		if h.Type != events.TypeDiverged {
			t.Errorf("the chain was taken up by %s, want the trigger's own event", h.Type)
		}
	}
}
