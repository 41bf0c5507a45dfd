package trigger

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// world drives a Trigger through faked time: sets that the test changes, a real HTTP sink that the test scripts, and a
// schedule that jumps from one due key to the next. One goroutine, no sleeps, the same course each time.
type world struct {
	t       *testing.T
	clock   *clocktesting.FakePassiveClock
	trigger *Trigger
	sink    *httptest.Server
	sets    map[string]*setState
	due     map[string]time.Time

	// answer is the sink's script; nil is 202 empty.
	answer func(p post) reply
	mu     sync.Mutex
	posts  []post
}

type setState struct {
	set  SetView
	pods []PodView
}

// post is one event as the sink got it.
type post struct {
	at    time.Duration // since noon
	event event.Event
	req   events.Request
}

// reply is what the sink says.
type reply struct {
	status     int
	event      *event.Event
	text       string
	retryAfter string
	cut        bool // close the connection without an answer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, clock: clocktesting.NewFakePassiveClock(noon), sets: map[string]*setState{}, due: map[string]time.Time{},
	}
	w.sink = httptest.NewServer(w)
	t.Cleanup(w.sink.Close)
	w.restart()
	return w
}

// restart is a new process: nothing is remembered, every set is looked at.
func (w *world) restart() {
	w.t.Helper()
	sender, err := events.NewSender(events.SinkConfig{URL: w.sink.URL, Try: 5 * time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	w.trigger = &Trigger{
		Store: w, Schedule: w, Sink: sender, Clock: w.clock, Cadence: DefaultCadence(), Health: &Health{},
		Metrics: NewMetrics(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	w.trigger.Health.Synced()
	clear(w.due)
	for key := range w.sets {
		w.trigger.Changed(key)
	}
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	e, err := events.Decode(r.Header, r.Body, 64<<10)
	if err != nil || r.Header.Get("Prefer") != "reply" {
		w.t.Errorf("the trigger sent %v (%v)", r.Header, err)
		return
	}
	req, err := events.Parse(*e)
	if err != nil {
		w.t.Errorf("the trigger sent an event that nobody can read: %v", err)
	}
	p := post{at: w.clock.Now().Sub(noon), event: *e, req: req}
	w.mu.Lock()
	w.posts = append(w.posts, p)
	w.mu.Unlock()
	say := reply{status: http.StatusAccepted}
	if w.answer != nil {
		say = w.answer(p)
	}
	say.write(rw, r)
}

func (say reply) write(rw http.ResponseWriter, r *http.Request) {
	switch {
	case say.cut:
		if conn, _, err := rw.(http.Hijacker).Hijack(); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 2")
			_ = conn.Close()
		}
	case say.event != nil:
		_ = cehttp.WriteResponseWriter(r.Context(), binding.ToMessage(say.event), say.status, rw)
	default:
		if say.retryAfter != "" {
			rw.Header().Set("Retry-After", say.retryAfter)
		}
		rw.WriteHeader(say.status)
		_, _ = io.WriteString(rw, say.text)
	}
}

// Look is the cache.
func (w *world) Look(key string) (*SetView, []PodView, bool) {
	s, ok := w.sets[key]
	if !ok || !s.set.Managed {
		return nil, nil, false
	}
	set := s.set // what is remembered must not follow
	return &set, slices.Clone(s.pods), true
}

// Keys is the cache's list.
func (w *world) Keys() (keys []string) {
	for key, s := range w.sets {
		if s.set.Managed {
			keys = append(keys, key)
		}
	}
	return keys
}

// Add is the work queue: a key is in it once, at its earliest time.
func (w *world) Add(key string) { w.AddAfter(key, 0) }

// AddAfter is the work queue.
func (w *world) AddAfter(key string, d time.Duration) {
	at := w.clock.Now().Add(d)
	if had, ok := w.due[key]; !ok || at.Before(had) {
		w.due[key] = at
	}
}

// put adds or changes a set and has it looked at, as an informer would.
func (w *world) put(key string, change func(*setState)) {
	s, ok := w.sets[key]
	if !ok {
		s = &setState{}
		s.set, s.pods = convergedSet()
		target, err := events.ParseSubject(key)
		if err != nil {
			w.t.Fatal(err)
		}
		s.set.Namespace, s.set.Name = target.Namespace, target.Name
		w.sets[key] = s
	}
	if change != nil {
		change(s)
	}
	w.trigger.Changed(key)
}

// newTemplate changes the template of a set to a revision, as a user would.
func newTemplate(revision string) func(*setState) {
	return func(s *setState) {
		s.set.Generation++
		s.set.ObservedGeneration, s.set.UpdateRevision = s.set.Generation, revision
	}
}

// run lets time pass until d after noon.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	end := noon.Add(d)
	for range 100000 {
		key, at := w.next()
		if key == "" || at.After(end) {
			w.clock.SetTime(end)
			return
		}
		if at.After(w.clock.Now()) {
			w.clock.SetTime(at)
		}
		delete(w.due, key)
		w.trigger.Look(w.t.Context(), key)
	}
	w.t.Fatal("the trigger spins")
}

func (w *world) next() (key string, at time.Time) {
	for k, t := range w.due {
		if key == "" || t.Before(at) || (t.Equal(at) && k < key) {
			key, at = k, t
		}
	}
	return key, at
}

// times are the moments, since noon, at which events about a set came in.
func (w *world) times(key string) (at []time.Duration) {
	for _, p := range w.posts {
		if p.event.Subject() == key {
			at = append(at, p.at)
		}
	}
	return at
}

func (w *world) forgetPosts() { w.posts = nil }

func (w *world) wantTimes(key string, want ...time.Duration) {
	w.t.Helper()
	if got := w.times(key); !slices.Equal(got, want) {
		w.t.Errorf("events about %s at %v\nwant %v", key, got, want)
	}
}
