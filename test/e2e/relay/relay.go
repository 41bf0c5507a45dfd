package relay

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Fate is what becomes of one event.
type Fate struct {
	// Lost: acknowledged with 202 and never delivered.
	Lost bool
	// Copies are delivered at the same time; the first answer counts. 0 is 1.
	Copies int
	// Delay before the delivery.
	Delay time.Duration
	// Echo is how much later one more copy is delivered, to which nobody waits for
	// an answer; 0 is none. It overtakes nothing and is overtaken by all that
	// happens meanwhile.
	Echo time.Duration
}

// Policy decides the fate of the n-th event, n from 0.
type Policy func(n int) Fate

// The policies of the tests.
var (
	Faithful       Policy = func(int) Fate { return Fate{} }
	EverySecond    Policy = func(n int) Fate { return Fate{Lost: n%2 == 0} }
	ThreeOfEach    Policy = func(int) Fate { return Fate{Copies: 3} }
	LateAndTripled Policy = func(n int) Fate { return Fate{Copies: 3, Delay: time.Duration(n%4) * 400 * time.Millisecond} }
)

// Event is one delivery that was asked for.
type Event struct {
	At      time.Time
	Type    string
	Subject string
	Fate    Fate
	Status  int // of the answer that counts; 0 when there was none
	Failed  string
}

// Relay forwards events to a sink that may change while it runs.
type Relay struct {
	URL string

	policy Policy
	server *http.Server
	client *http.Client

	mu     sync.Mutex
	sink   string
	events []Event
}

// Start listens on loopback.
func Start(sink string, policy Policy) (*Relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start relay: %w", err)
	}
	r := &Relay{URL: "http://" + listener.Addr().String(), policy: policy, sink: sink,
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// Stop ends the relay and what it has under way.
func (r *Relay) Stop() { _ = r.server.Close() }

// To sends all further events to another sink.
func (r *Relay) To(sink string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sink = sink
}

// Events are all events so far.
func (r *Relay) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events...)
}

// ServeHTTP takes one event.
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	n, fate, sink := r.admit(req)
	if fate.Delay > 0 {
		time.Sleep(fate.Delay)
	}
	if fate.Lost {
		r.note(n, http.StatusAccepted, nil)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if fate.Echo > 0 {
		time.AfterFunc(fate.Echo, func() { _ = r.forward(req, sink, body) })
	}
	answers := make(chan answer, max(fate.Copies, 1))
	for range max(fate.Copies, 1) {
		go func() { answers <- r.forward(req, sink, body) }()
	}
	a := <-answers
	r.note(n, a.status, a.err)
	a.write(w)
}

func (r *Relay) admit(req *http.Request) (n int, fate Fate, sink string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = len(r.events)
	fate = r.policy(n)
	r.events = append(r.events, Event{At: time.Now(), Type: req.Header.Get("Ce-Type"), Subject: req.Header.Get("Ce-Subject"), Fate: fate})
	return n, fate, r.sink
}

func (r *Relay) note(n, status int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[n].Status = status
	if err != nil {
		r.events[n].Failed = err.Error()
	}
}

type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// forward does not follow the caller's cancellation: a copy that the network
// made lives on whatever becomes of the first one.
func (r *Relay) forward(req *http.Request, sink string, body []byte) answer {
	out, err := http.NewRequest(req.Method, sink+req.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	out.Header = req.Header.Clone()
	response, err := r.client.Do(out)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: content, err: err}
}

func (a answer) write(w http.ResponseWriter) {
	if a.err != nil {
		http.Error(w, "sink out of reach", http.StatusBadGateway)
		return
	}
	for name, values := range a.header {
		if name != "Content-Length" && name != "Connection" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}
