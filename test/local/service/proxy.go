package service

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

const dialTimeout = 2 * time.Second

// Proxy listens on the addresses of a table and passes connections on.
type Proxy struct {
	mu        sync.Mutex
	listeners map[string]*listener
}

// NewProxy returns a proxy that listens nowhere yet.
func NewProxy() *Proxy { return &Proxy{listeners: map[string]*listener{}} }

// Set makes the proxy follow these routes. Open connections stay as they are. It
// returns the first address that could not be listened on; the others work.
func (p *Proxy) Set(routes []Route) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first error
	wanted := map[string]bool{}
	for _, r := range routes {
		wanted[r.Listen] = true
		l, ok := p.listeners[r.Listen]
		if !ok {
			var err error
			if l, err = listen(r.Listen); err != nil {
				if first == nil {
					first = err
				}
				continue
			}
			p.listeners[r.Listen] = l
		}
		l.set(r.Backends)
	}
	for address, l := range p.listeners {
		if !wanted[address] {
			_ = l.Close()
			delete(p.listeners, address)
		}
	}
	return first
}

type listener struct {
	net.Listener
	mu       sync.Mutex
	backends []string
	turn     int
}

func listen(address string) (*listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	out := &listener{Listener: l}
	go out.serve()
	return out, nil
}

func (l *listener) set(backends []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backends = backends
}

// order is all backends, another one first each time.
func (l *listener) order() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.backends) == 0 {
		return nil
	}
	l.turn++
	first := l.turn % len(l.backends)
	return append(append([]string{}, l.backends[first:]...), l.backends[:first]...)
}

func (l *listener) serve() {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // closed
		}
		go l.pass(conn)
	}
}

func (l *listener) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	for _, backend := range l.order() {
		ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
		server, err := (&net.Dialer{}).DialContext(ctx, "tcp", backend)
		cancel()
		if err != nil {
			continue
		}
		defer func() { _ = server.Close() }()
		var both sync.WaitGroup
		both.Go(func() { half(server, client) })
		both.Go(func() { half(client, server) })
		both.Wait()
		return
	}
	// Nobody is ready: with kube-proxy the connection would be refused. It was
	// accepted already, so that a reset is the closest.
	if tcp, ok := client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// half copies one direction and passes its end on.
func half(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if tcp, ok := to.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}
