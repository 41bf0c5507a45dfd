package fn

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

func TestKN04_DuplicateOfATakenStepIsANoOp(t *testing.T) {
	w := newWorld(3).outdated()
	first := post(t, handler(w), diverged(), preferReply)
	e := continueAt(0)
	for range 3 {
		if got := post(t, handler(w), e, preferReply); got.code != http.StatusOK || got.event != nil {
			t.Errorf("an overtaken chain lives on: %d %s", got.code, got.kind())
		}
	}
	if len(w.patches) != 1 || first.seq(t) != 1 {
		t.Errorf("%d patches", len(w.patches))
	}
}

func TestOnlyTheCurrentChainCarriesAWaitOn(t *testing.T) {
	w := newWorld(3).outdated()
	post(t, handler(w), diverged())
	got := post(t, handler(w), continueAt(1), preferReply) // released, not yet acted upon
	if got.kind() != events.TypeContinue || got.seq(t) != 1 {
		t.Errorf("current chain: %d %s", got.code, got.kind())
	}
	if got := post(t, handler(w), diverged(), preferReply); got.code != http.StatusAccepted || got.event != nil {
		t.Errorf("another look started a second chain: %d %s", got.code, got.kind())
	}
	if got := post(t, handler(w), continueAt(1)); got.code != http.StatusAccepted {
		t.Errorf("without Prefer: %d", got.code)
	}
}

func TestCG02_LostRaceIsObservedAnewAndQuiet(t *testing.T) {
	w := newWorld(3).outdated()
	once := true
	w.before["patch set"] = func() {
		if once {
			once = false
			w.set.Status.UpdateRevision = "etcd-c" // a template that came between
			w.touch()
		}
	}
	got := post(t, handler(w), diverged(), preferReply)
	if got.kind() != events.TypeContinue || w.count("patch set") != 2 || w.count("get set") != 2 || len(w.patches) != 1 {
		t.Fatalf("%d %s, calls %v", got.code, got.kind(), w.calls)
	}
	if !strings.Contains(string(w.patches[0].Body), "etcd-c") {
		t.Errorf("the old decision was sent again: %s", w.patches[0].Body)
	}
}

func TestKN04_RaceLostForGoodIsAQuietSuccess(t *testing.T) {
	w := newWorld(3).outdated()
	w.before["patch set"] = func() { w.touch() }
	got := post(t, handler(w), diverged(), preferReply)
	if got.code != http.StatusAccepted || got.event != nil || w.count("patch set") != maxRounds || len(w.patches) != 0 {
		t.Errorf("%d %s, %d tries", got.code, got.kind(), w.count("patch set"))
	}
}

func TestKN11_TwoFunctionsAtOnceTakeOneStep(t *testing.T) {
	w := newWorld(3).outdated()
	w.leader = 2                     // so that the step is a leader move, which must happen once
	w.before["patch set"] = func() { // neither writes before both have looked
		for end := time.Now().Add(10 * time.Second); w.count("get set") < 2 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	done := make(chan answered, 2)
	for range 2 {
		go func() { done <- post(t, handler(w), diverged(), preferReply) }()
	}
	<-done
	<-done
	if len(w.patches) != 1 || len(w.moves) != 1 {
		t.Errorf("%d writes, %d moves", len(w.patches), len(w.moves))
	}
}

func TestWriteOfUnknownFateIsNotFollowedUp(t *testing.T) {
	for name, err := range map[string]error{
		"no answer":      context.DeadlineExceeded,
		"server timeout": apierrors.NewServerTimeout(schema.GroupResource{Resource: "statefulsets"}, "patch", 1),
		"gateway":        apierrors.NewTimeoutError("took too long", 1),
	} {
		w := newWorld(3).outdated()
		w.leader = 2
		w.fails["patch set"] = []error{err}
		got := post(t, handler(w), diverged(), preferReply)
		if got.code != http.StatusAccepted || got.event != nil || len(w.moves) != 0 || w.count("patch set") != 1 {
			t.Errorf("%s: %d %s, %d moves, %d tries", name, got.code, got.kind(), len(w.moves), w.count("patch set"))
		}
	}
}

// The controller takes the released pod after a visit has read the pods and
// before that visit asks the members. What the pod closes by going is no
// reason to lock; what closes while it stays is.
func TestSS05_AReleaseIsNotTakenBackFromAPodThatGoes(t *testing.T) {
	silent := func(w *world) { w.members[2].Reached = false }
	spent := func(w *world) {
		w.budgets = []policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Name: "etcd"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}}
	}
	leads := func(w *world) { w.leader = 2 }
	terminating := func(w *world) { w.pods["etcd-2"].DeletionTimestamp = &metav1.Time{Time: noon} }
	for name, c := range map[string]struct {
		closes    func(*world)
		meanwhile func(*world) // what becomes of the released pod
		locks     bool
	}{
		"silent, since it terminates":     {silent, terminating, false},
		"silent, since it is gone":        {silent, func(w *world) { delete(w.pods, "etcd-2") }, false},
		"its going spends the budget":     {spent, terminating, false},
		"silent, and the successor came":  {silent, func(w *world) { w.pods["etcd-2"].UID = "uid-new" }, true},
		"silent for another reason":       {silent, func(*world) {}, true},
		"it came to lead, and stays":      {leads, func(*world) {}, true},
		"silent, and nobody can read why": {silent, func(w *world) { w.fails["get pod etcd-2"] = []error{errors.New("connection refused")} }, true},
	} {
		w := newWorld(3).outdated()
		post(t, handler(w), diverged())
		if partition(w.set) != 2 {
			t.Fatalf("%s: nothing was released, partition %d", name, partition(w.set))
		}
		c.closes(w)
		w.before["list budgets"] = func() { // the pods have been read
			w.mu.Lock()
			defer w.mu.Unlock()
			c.meanwhile(w)
		}
		post(t, handler(w), diverged())
		if locked := partition(w.set) == 3; locked != c.locks {
			t.Errorf("%s: locked %v, want %v; calls %v", name, locked, c.locks, w.calls)
		}
	}
}

// dumbPods is an API server that says nothing about one pod, once it was asked
// for it before.
type dumbPods struct {
	*world
	name  string
	asked int
}

func (d *dumbPods) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	if name != d.name {
		return d.world.Pod(ctx, namespace, name)
	}
	if d.asked++; d.asked > 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d.world.Pod(ctx, namespace, name)
}

func TestSS04_ALookThatGetsNoAnswerDoesNotKeepTheSetOpen(t *testing.T) {
	w := newWorld(3).outdated()
	post(t, handler(w), diverged())
	w.members[1].Reached = false
	h := handler(w)
	dumb := &dumbPods{world: w, name: "etcd-2"}
	h.Observer.API, h.Actor.API = dumb, dumb
	post(t, h, diverged())
	if dumb.asked != 2 || partition(w.set) != 3 {
		t.Errorf("asked %d times, partition %d", dumb.asked, partition(w.set))
	}
}

func TestCallerThatGoesAwayDoesNotCutAStepInHalf(t *testing.T) {
	w := newWorld(3).outdated()
	w.leader = 2
	ctx, cancel := context.WithCancel(context.Background())
	w.before["patch set"] = cancel
	r := request(t, diverged()).WithContext(ctx)
	serve(t, handler(w), r)
	if len(w.patches) != 1 || len(w.moves) != 1 || w.count("record event") != 0 && len(w.told) == 0 {
		t.Errorf("%d writes, %d moves", len(w.patches), len(w.moves))
	}
}

func TestCallerThatIsGoneAlreadyStartsNothing(t *testing.T) {
	w := newWorld(3).outdated()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	serve(t, handler(w), request(t, diverged()).WithContext(ctx))
	if len(w.patches) != 0 {
		t.Error("a write was begun for nobody")
	}
}

func TestWaitingIsPolledInsideTheRequestUpToMaxWait(t *testing.T) {
	w := newWorld(3).outdated()
	post(t, handler(w), diverged())
	looks := 0
	w.before["get set"] = func() {
		looks++
		if looks == 3 { // the controller has acted
			w.mu.Lock()
			p := etcdPod("etcd-2", newRevision)
			p.UID = "uid-new"
			w.pods["etcd-2"] = p
			w.set.Status.ObservedGeneration = w.set.Generation
			w.mu.Unlock()
		}
	}
	h := handler(w)
	h.MaxWait = 10 * time.Second
	got := post(t, h, continueAt(1), preferReply)
	if got.kind() != events.TypeContinue || got.seq(t) != 2 || partition(w.set) != 3 || looks != 3 {
		t.Errorf("%d %s, partition %d after %d looks", got.code, got.kind(), partition(w.set), looks)
	}
}

func TestPollingEndsBeforeMaxWaitAndWhenTheFunctionStops(t *testing.T) {
	stopped := make(chan struct{})
	close(stopped)
	for name, change := range map[string]func(*Handler){
		"no time":  func(h *Handler) { h.MaxWait = 200 * time.Millisecond },
		"stopping": func(h *Handler) { h.MaxWait, h.Stopping = time.Minute, stopped },
	} {
		w := newWorld(3).outdated()
		post(t, handler(w), diverged())
		h := handler(w)
		change(h)
		start := time.Now()
		got := post(t, h, continueAt(1), preferReply)
		if got.kind() != events.TypeContinue || time.Since(start) > 5*time.Second {
			t.Errorf("%s: %d %s after %s", name, got.code, got.kind(), time.Since(start))
		}
	}
}

// A function that was held up since it looked has no time left to announce a
// call and make it while others still wait for it: it does neither.
func TestI1_NoCallIsAnnouncedThatCouldComeAfterItsWindow(t *testing.T) {
	for name, w := range map[string]*world{"a delete": onDelete(newWorld(3).outdated()), "a move": leading(2)} {
		h := handler(w)
		held := guard.DefaultLimits().CallWindow - 2*time.Second
		h.Observer.Clock = func() time.Time { return time.Now().Add(-held) }
		post(t, h, diverged(), preferReply)
		if len(w.patches) != 0 || len(w.deletes) != 0 || len(w.moves) != 0 {
			t.Errorf("%s: %d patches, deletes %v, moves %v", name, len(w.patches), w.deletes, w.moves)
		}
	}
}

func leading(i int) *world {
	w := newWorld(3).outdated()
	w.leader = i
	return w
}

// Held up between the announcement and the call: the call is not made. The
// others plan afresh, and a delete of ours would come on top of theirs.
func TestI1_AnAnnouncedCallIsDroppedWhenItsTimeIsOver(t *testing.T) {
	for name, w := range map[string]*world{"a delete": onDelete(newWorld(3).outdated()), "a move": leading(2)} {
		h := handler(w)
		s, d, err := h.Observer.Decide(t.Context(), events.Target{Namespace: w.set.Namespace, Name: w.set.Name}, roll.Ask{})
		if err != nil || d.Effect.Kind == roll.NoEffect {
			t.Fatalf("%s: %v, %s", name, err, roll.Describe(d))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		a := Actor{API: w, Checkpoint: func(at string) {
			if at == AfterWrite {
				<-ctx.Done()
			}
		}}
		out, err := a.Act(ctx, s, d)
		if err != nil || out.Deed != Written || !(errors.Is(out.CallErr, errLate) || errors.Is(out.CallErr, errChanged)) || len(w.deletes) != 0 || len(w.moves) != 0 {
			t.Errorf("%s: %s, %v, %v; deletes %v, moves %v", name, out.Deed, err, out.CallErr, w.deletes, w.moves)
		}
	}
}
