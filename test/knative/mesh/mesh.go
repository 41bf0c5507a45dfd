// Package mesh stands in for cluster DNS and Services where there are none: a
// forward proxy (HTTP_PROXY) that knows names in the cluster and passes each
// request on to a loopback port. It sees every hop, and can spoil one.
package mesh

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Hop is one request that was passed on, or not.
type Hop struct {
	At     time.Time
	Took   time.Duration
	Host   string // name in the cluster
	Path   string
	Type   string // of the event
	ID     string
	Status int    // of the answer; 0 while there is none
	Reply  string // type of the event in the answer
}

// Fate is what becomes of one hop. The zero value passes it on unharmed.
type Fate struct {
	Refuse     int           // answer this status instead of passing it on
	Delay      time.Duration // before it is passed on
	DropReply  bool          // pass it on, and answer 202 without the event that came back
	LoseAnswer bool          // pass it on, and answer 502 as if nothing had come back
	After      time.Duration // call Then so long after it was passed on, while no answer has come
	Then       func()
}

// Mesh is a running proxy.
type Mesh struct {
	URL string

	server *http.Server
	client *http.Transport

	mu     sync.Mutex
	routes map[string]string // host, or the end of a host that begins with "-", to the base URL behind it
	hops   []Hop
	fate   func(Hop) Fate
}

// Start listens on loopback.
func Start() (*Mesh, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start mesh: %w", err)
	}
	m := &Mesh{URL: "http://" + listener.Addr().String(), routes: map[string]string{},
		client: &http.Transport{Proxy: nil, DisableCompression: true}}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = m.server.Serve(listener) }()
	return m, nil
}

// Port is what the proxy listens on.
func (m *Mesh) Port() string { return m.URL[strings.LastIndexByte(m.URL, ':')+1:] }

// Stop ends the proxy and what it has under way.
func (m *Mesh) Stop() { _ = m.server.Close() }

// Route sends requests for the host to the base URL. A host that begins with
// "-" stands for all that end with it.
func (m *Mesh) Route(host, base string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.routes[host] = base
}

// Spoil lets fate decide about all further hops; nil spoils none.
func (m *Mesh) Spoil(fate func(Hop) Fate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fate = fate
}

// Hops are those to the host since then, in order.
func (m *Mesh) Hops(host string, since time.Time) []Hop {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Hop
	for _, h := range m.hops {
		if h.Host == host && !h.At.Before(since) {
			found = append(found, h)
		}
	}
	return found
}

// ServeHTTP takes one request.
func (m *Mesh) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	base := m.behind(host)
	if base == "" {
		http.Error(w, "no route to "+host, http.StatusBadGateway)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	n, fate := m.admit(Hop{At: time.Now(), Host: host, Path: r.URL.Path, Type: r.Header.Get("Ce-Type"), ID: r.Header.Get("Ce-Id")})
	if fate.Refuse != 0 {
		m.note(n, fate.Refuse, "")
		w.WriteHeader(fate.Refuse)
		return
	}
	time.Sleep(fate.Delay)
	if fate.Then != nil {
		timer := time.AfterFunc(fate.After, fate.Then)
		defer timer.Stop()
	}
	answer, content, err := m.pass(r, base, body)
	if err != nil {
		m.note(n, http.StatusBadGateway, "")
		http.Error(w, "no answer from "+host, http.StatusBadGateway)
		return
	}
	m.note(n, answer.StatusCode, answer.Header.Get("Ce-Type"))
	switch {
	case fate.DropReply:
		w.WriteHeader(http.StatusAccepted)
		return
	case fate.LoseAnswer:
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	for name, values := range answer.Header {
		if name != "Connection" && name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(content)
}

func (m *Mesh) behind(host string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if base, ok := m.routes[host]; ok {
		return base
	}
	for end, base := range m.routes {
		if strings.HasPrefix(end, "-") && strings.HasSuffix(host, end) {
			return base
		}
	}
	return ""
}

func (m *Mesh) admit(h Hop) (n int, fate Fate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hops = append(m.hops, h)
	if m.fate != nil {
		fate = m.fate(h)
	}
	return len(m.hops) - 1, fate
}

func (m *Mesh) note(n, status int, reply string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := &m.hops[n]
	h.Status, h.Reply, h.Took = status, reply, time.Since(h.At)
}

// pass keeps the Host header: the channel dispatcher tells channels by it. It
// follows the caller's cancellation, as a Service would.
func (m *Mesh) pass(r *http.Request, base string, body []byte) (*http.Response, []byte, error) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, base+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	out.Header, out.Host = r.Header.Clone(), r.Host
	out.Header.Del("Proxy-Connection")
	answer, err := m.client.RoundTrip(out)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	return answer, content, err
}
