// Package function plays the function: it takes one step per event, as the real
// one does, with the same writes and the same answers, and asks no member
// anything. It remembers every event.
package function

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/scale/fleet"
)

// Event is one event that came in.
type Event struct {
	At   time.Time
	Set  string // its name
	Type string
}

// Function is a sink. It listens until Stop.
type Function struct {
	URL string

	fleet  *fleet.Fleet
	server *http.Server
	under  context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup // pods that are being replaced

	mu        sync.Mutex
	held      chan struct{} // nil if pods are replaced at once
	forgiving bool
	hand      map[string]bool // sets that are being rolled
	most      int
	finished  int
	events    []Event
	problems  []error
}

// Start listens on loopback. The first event finds everything ready.
func Start(f *fleet.Fleet) (*Function, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start sink: %w", err)
	}
	s := &Function{URL: "http://" + listener.Addr().String(), fleet: f, hand: map[string]bool{}}
	s.under, s.stop = context.WithCancel(context.Background())
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// Stop ends the sink, and waits for what it has under way.
func (s *Function) Stop() {
	s.stop()
	_ = s.server.Close()
	s.work.Wait()
}

// Hold keeps released pods from being replaced until it is taken back.
func (s *Function) Hold(hold bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case hold && s.held == nil:
		s.held = make(chan struct{})
	case !hold && s.held != nil:
		close(s.held)
		s.held = nil
	}
}

func (s *Function) unheld(ctx context.Context) {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held == nil {
		return
	}
	select {
	case <-held:
	case <-ctx.Done():
	}
}

// Forgive counts no fault while the API server is away.
func (s *Function) Forgive(forgive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgiving = forgive
}

// Events are all events so far.
func (s *Function) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event(nil), s.events...)
}

// Most is the largest number of sets that were in hand at once: asked about
// while not up to date, and not finished yet.
func (s *Function) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Finished counts the rolls that have come to their end, converged and handed
// back.
func (s *Function) Finished() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished
}

func (s *Function) handBack(ctx context.Context, set *appsv1.StatefulSet) (answer, error) {
	err := s.fleet.HandBack(ctx, set)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.finished++
	}
	return nothing, err
}

// InHand are the sets that are in hand now.
func (s *Function) InHand() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.hand)
}

func (s *Function) inHand(set string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !is {
		delete(s.hand, set)
		return
	}
	s.hand[set] = true
	s.most = max(s.most, len(s.hand))
}

// Err is what went wrong while playing, other than lost races.
func (s *Function) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.problems...)
}

// ServeHTTP takes one event.
func (s *Function) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	e, err := events.Decode(r.Header, r.Body, 64<<10)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ask, err := events.Parse(*e)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.note(Event{At: at, Set: ask.Target.Name, Type: ask.Type})
	a, err := s.step(s.under, ask)
	switch {
	case err != nil:
		s.fault(err)
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusServiceUnavailable)
	case a.goesOn:
		next := events.NewContinue(ask.Target, a.seq, time.Now(), time.Now().Add(a.after), e)
		_ = cehttp.WriteResponseWriter(r.Context(), binding.ToMessage(&next), http.StatusOK, w)
	default:
		w.WriteHeader(a.status)
	}
}

func (s *Function) note(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *Function) fault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.forgiving && s.under.Err() == nil {
		s.problems = append(s.problems, err)
	}
}
