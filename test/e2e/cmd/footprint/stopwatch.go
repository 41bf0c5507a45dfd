package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// visit is one event and its answer, as seen from outside.
type visit struct {
	began time.Time
	took  time.Duration
}

// stopwatch stands between the trigger and the function. The time of a visit is
// from when the event is sent on until the whole answer has been read, so that
// the way from the trigger to here is in none of them.
type stopwatch struct {
	URL string

	server    *http.Server
	transport *http.Transport

	mu     sync.Mutex
	visits []visit
	failed error
}

// startStopwatch listens on loopback.
func startStopwatch(function string) (*stopwatch, error) {
	sink, err := url.Parse(function)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start stopwatch: %w", err)
	}
	s := &stopwatch{URL: "http://" + listener.Addr().String(), transport: http.DefaultTransport.(*http.Transport).Clone()}
	proxy := &httputil.ReverseProxy{Transport: s, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(sink) }}
	s.server = &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// Stop ends it, and what is under way through it.
func (s *stopwatch) Stop() {
	_ = s.server.Close()
	s.transport.CloseIdleConnections()
}

// Visits are those that have been answered so far. One that was not is an error.
func (s *stopwatch) Visits() ([]visit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]visit(nil), s.visits...), s.failed
}

// RoundTrip passes one event on and takes the time.
func (s *stopwatch) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := s.transport.RoundTrip(r)
	if err != nil {
		s.note(visit{}, err)
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	took := time.Since(began)
	_ = response.Body.Close()
	s.note(visit{began, took}, err)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

func (s *stopwatch) note(v visit, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed = fmt.Errorf("an event was not answered: %w", err)
		return
	}
	s.visits = append(s.visits, v)
}
