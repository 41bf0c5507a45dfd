package trigger

import (
	"context"
	"errors"
	"iter"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// watched is a watchdog over one scripted mirror, in faked time.
type watched struct {
	*Watchdog
	clock  *clocktesting.FakeClock
	mu     sync.Mutex
	live   map[string]string
	cached map[string]string
	err    error
	forced []string
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{clock: clocktesting.NewFakeClock(noon), live: map[string]string{"a/b": "1"}, cached: map[string]string{"a/b": "1"}}
	copied := func(m map[string]string) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			out[k] = v
		}
		return out
	}
	w.Watchdog = &Watchdog{
		Mirrors: []Mirror{{
			Resource: "statefulsets",
			Live: func(context.Context) (map[string]string, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				return copied(w.live), w.err
			},
			Cached: func() iter.Seq2[string, string] { w.mu.Lock(); defer w.mu.Unlock(); return maps.All(copied(w.cached)) },
			SetOf:  func(object string) string { return object },
		}},
		Every: 10 * time.Minute, Settle: 5 * time.Second, Patience: 55 * time.Second,
		Clock: w.clock, Health: &Health{}, Metrics: NewMetrics(), Log: quiet(),
		Force: func(key string) { w.mu.Lock(); defer w.mu.Unlock(); w.forced = append(w.forced, key) },
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { w.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return w
}

// pass lets the watchdog's present wait of d end, and returns when it waits again.
func (w *watched) pass(t *testing.T, d time.Duration) {
	t.Helper()
	eventually(t, "the watchdog waits", w.clock.HasWaiters)
	w.clock.Step(d)
	eventually(t, "the watchdog waits again", w.clock.HasWaiters)
}

func (w *watched) change(f func()) { w.mu.Lock(); defer w.mu.Unlock(); f() }

func TestKN19_SilentWatchIsNoticed(t *testing.T) {
	w := newWatched(t)
	w.pass(t, 10*time.Minute)
	if got := metric(t, w.Metrics, "etcdroll_informer_last_sync_timestamp_seconds", "statefulsets"); got != float64(noon.Add(10*time.Minute).Unix()) {
		t.Errorf("last sync %v", got)
	}
	w.change(func() { w.live["a/b"] = "2" })
	w.pass(t, 10*time.Minute)
	w.pass(t, 5*time.Second)
	w.change(func() {
		if len(w.forced) != 1 || w.forced[0] != "a/b" {
			t.Errorf("asked about %v on the strength of the list", w.forced)
		}
	})
	if w.Health.Alive() != "" {
		t.Error("given up too early")
	}
	w.pass(t, 55*time.Second)
	if got := w.Health.Alive(); !strings.Contains(got, "statefulsets") {
		t.Errorf("after a minute behind: %q", got)
	}
	w.change(func() { w.cached["a/b"] = "2" })
	w.pass(t, 10*time.Minute)
	if w.Health.Alive() != "" {
		t.Error("a cache that has caught up is still given up")
	}
}

func TestCG06_ABusyOrShortLivedObjectIsNoSilentWatch(t *testing.T) {
	for name, c := range map[string]struct{ early, late func(w *watched) }{
		"catches up at once": {func(w *watched) { w.cached["a/b"] = "2" }, nil},
		"always one behind":  {func(w *watched) { w.live["a/b"], w.cached["a/b"] = "9", "8" }, nil},
		"lived for a moment": {nil, func(w *watched) { delete(w.live, "x/y"); w.live["a/b"] = "1" }},
		"catches up late":    {nil, func(w *watched) { w.cached["a/b"], w.cached["x/y"] = "2", "1" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t)
			w.change(func() {
				w.live["a/b"] = "2"
				if name == "lived for a moment" {
					w.live["a/b"], w.live["x/y"] = "1", "1"
				}
			})
			w.pass(t, 10*time.Minute)
			if c.early != nil {
				w.change(func() { c.early(w) })
			}
			w.pass(t, 5*time.Second)
			if c.late != nil {
				w.change(func() { c.late(w) })
				w.pass(t, 55*time.Second)
			}
			if got := w.Health.Alive(); got != "" {
				t.Errorf("given up: %s", got)
			}
		})
	}
}

func TestFailedListIsNoSignAgainstTheCache(t *testing.T) {
	w := newWatched(t)
	w.change(func() { w.live["a/b"] = "2"; w.err = errors.New("connection refused") })
	for range 5 {
		w.pass(t, 10*time.Minute)
	}
	if got := w.Health.Alive(); got != "" || len(w.forced) != 0 {
		t.Errorf("given up: %s", got)
	}
}

func TestMirrorsCompareTheRealCachesWithTheRealAPI(t *testing.T) {
	api := newAPIServer(t)
	api.put("statefulsets", apiSet("etcd", nil))
	api.put("pods", apiPod("etcd", 0, "a"))
	c, err := connect(Options{Kubeconfig: api.kubeconfig(t)})
	if err != nil {
		t.Fatal(err)
	}
	store := NewCache(c.apps, c.meta, Scope{Namespaces: []string{"prod"}})
	if err := store.Start(t.Context(), 30*time.Second, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	behind := func(m Mirror) map[string]string {
		live, err := m.Live(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return differences(live, m.Cached())
	}
	sets, pods := store.Mirrors(c.meta)[0], store.Mirrors(c.meta)[1]
	if len(behind(sets))+len(behind(pods)) != 0 {
		t.Errorf("behind by %v, %v", behind(sets), behind(pods))
	}
	api.mu.Lock()
	api.mute = true
	api.mu.Unlock()
	api.put("statefulsets", apiSet("etcd", func(s *appsv1.StatefulSet) { s.Annotations[events.AnnotationPaused] = "true" }))
	api.put("pods", apiPod("etcd", 0, "b"))
	api.put("pods", apiPod("etcd", 1, "a"))
	if got := behind(sets); len(got) != 1 || sets.SetOf("prod/etcd") != "prod/etcd" {
		t.Errorf("sets behind: %v", got)
	}
	if got := behind(pods); len(got) != 2 || pods.SetOf("prod/etcd-1") != "prod/etcd" || pods.SetOf("prod/web-1") != "" {
		t.Errorf("pods behind: %v", got)
	}
	api.remove("pods", "prod/etcd-0")
	if got := behind(pods); len(got) != 2 {
		t.Errorf("pods behind after a deletion: %v", got)
	}
}
