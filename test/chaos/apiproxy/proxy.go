// Package apiproxy stands between the function and the API server. It answers
// reads from the past and loses the answers of writes that were applied, and it
// knows every write that the function has asked for.
package apiproxy

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/etcdroll/etcdroll/test/e2e/access"
)

// Remembered is how long answers to reads are kept, and so how old an answer
// from the past can be.
const Remembered = 20 * time.Second

// Write is a request that could change something.
type Write struct {
	At     time.Time
	Method string
	Path   string
	Status int  // of the API server's answer; 0 when there was none
	Lost   bool // the caller never got it
}

// Name is what the proxy's certificate is for.
const Name = "apiproxy"

// Proxy listens on loopback. The caller's own token is passed on; clients send
// one only over TLS.
type Proxy struct {
	URL       string
	Authority []byte // PEM of who issued its certificate

	server   *http.Server
	upstream *url.URL
	client   *http.Client

	mu     sync.Mutex
	past   map[string][]answer
	age    time.Duration // answers are at least this old; 0 is live
	stale  int           // reads that were answered from the past
	losses int           // answers of writes still to be lost
	writes []Write
}

type answer struct {
	at     time.Time
	status int
	header http.Header
	body   []byte
}

// Start proxies the API server of the configuration, whose credentials are not
// used.
func Start(config *rest.Config) (*Proxy, error) {
	anonymous := rest.AnonymousClientConfig(config)
	transport, err := rest.TransportFor(anonymous)
	if err != nil {
		return nil, fmt.Errorf("start API proxy: %w", err)
	}
	upstream, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("start API proxy: %w", err)
	}
	p := &Proxy{upstream: upstream, client: &http.Client{Transport: transport}, past: map[string][]answer{}}
	if err := p.serve(); err != nil {
		return nil, fmt.Errorf("start API proxy: %w", err)
	}
	return p, nil
}

func (p *Proxy) serve() error {
	authority, err := access.NewAuthority(Name)
	if err != nil {
		return err
	}
	pair, err := authority.Issue(Name, Name)
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.URL, p.Authority = "https://"+listener.Addr().String(), authority.PEM
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}}
	go func() { _ = p.server.ServeTLS(listener, "", "") }()
	return nil
}

// Stop ends the proxy and what it has under way.
func (p *Proxy) Stop() { _ = p.server.Close() }

// Age answers reads of sets and pods with what they were answered this long
// ago, where that is known; 0 answers them live. It says how many were answered
// from the past since it was last called.
func (p *Proxy) Age(d time.Duration) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.stale
	p.age, p.stale = d, 0
	return n
}

// LoseAnswers loses the answers of the next n writes. It says how many of those
// before were still to be lost.
func (p *Proxy) LoseAnswers(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.losses
	p.losses = n
	return left
}

// Writes are all writes that arrived since then.
func (p *Proxy) Writes(since time.Time) []Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Write
	for _, w := range p.writes {
		if !w.At.Before(since) {
			found = append(found, w)
		}
	}
	return found
}

// ServeHTTP passes one request on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if r.Method == http.MethodGet {
		if old, ok := p.remembered(r.URL.RequestURI(), began); ok {
			old.write(w)
			return
		}
	}
	a, err := p.forward(r)
	lost := r.Method != http.MethodGet && p.lose(r)
	if r.Method != http.MethodGet && !asks(r) {
		p.note(Write{At: began, Method: r.Method, Path: r.URL.Path, Status: a.status, Lost: lost || err != nil})
	}
	if err != nil || lost {
		// The connection breaks, as it does when the API server dies.
		panic(http.ErrAbortHandler)
	}
	if r.Method == http.MethodGet && a.status == http.StatusOK && changeable(r.URL.Path) {
		p.remember(r.URL.RequestURI(), a)
	}
	a.write(w)
}

func (p *Proxy) forward(r *http.Request) (answer, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return answer{}, err
	}
	target := *r.URL
	target.Scheme, target.Host = p.upstream.Scheme, p.upstream.Host
	// A write that has arrived here is not taken back by its caller's death.
	out, err := http.NewRequest(r.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	out.Header = r.Header.Clone()
	response, err := p.client.Do(out)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return answer{at: time.Now(), status: response.StatusCode, header: response.Header, body: content}, err
}

// asks is a review: a question that is put as a POST.
func asks(r *http.Request) bool { return strings.Contains(r.URL.Path, "/authorization.k8s.io/") }

func changeable(path string) bool {
	return strings.Contains(path, "/statefulsets/") || strings.Contains(path, "/pods/")
}

func (p *Proxy) lose(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.losses == 0 || !changeable(r.URL.Path) {
		return false
	}
	p.losses--
	return true
}

func (p *Proxy) note(w Write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, w)
}

func (a answer) write(w http.ResponseWriter) {
	for name, values := range a.header {
		if name != "Content-Length" && name != "Connection" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}
