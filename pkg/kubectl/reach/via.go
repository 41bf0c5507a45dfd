// Package reach is the way to a member: to its pod's address where that can
// be reached from here, else through the API server's port-forward.
package reach

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
)

// Via is how members are reached.
type Via string

// The ways.
const (
	Auto        Via = "auto"
	Direct      Via = "direct"
	PortForward Via = "port-forward"
)

// ParseVia reads a way; empty is Auto.
func ParseVia(text string) (Via, error) {
	switch v := Via(text); v {
	case "":
		return Auto, nil
	case Auto, Direct, PortForward:
		return v, nil
	}
	return "", fmt.Errorf("%q is none of auto, direct, port-forward", text)
}

// Dialer opens a connection to a port inside a pod.
type Dialer func(ctx context.Context, pod string, port int) (net.Conn, error)

// members asks over the chosen way; everything else is the function's prober.
type members struct {
	etcdprobe.Prober
	way *Way
}

// Way leads to the members of the sets in one namespace.
type Way struct {
	via     Via
	through Dialer

	mu        sync.Mutex
	tunnelled map[string]bool // by address: those that only the tunnel reaches
}

// New is the way with the API server's port-forward as its tunnel.
func New(config *rest.Config, client kubernetes.Interface, via Via, namespace string) *Way {
	return NewWay(via, tunnel{config: config, client: client, namespace: namespace}.dial)
}

// NewWay is the way with the given tunnel.
func NewWay(via Via, through Dialer) *Way {
	return &Way{via: via, through: through, tunnelled: map[string]bool{}}
}

// Members asks over the way.
func (w *Way) Members(limits guard.Limits) fn.Members { return members{etcdprobe.New(limits), w} }

// Probe asks every member over its way.
func (m members) Probe(ctx context.Context, endpoints []etcdprobe.Endpoint, who etcdprobe.Credentials) etcdprobe.Reading {
	led := make([]etcdprobe.Endpoint, len(endpoints))
	for i, e := range endpoints {
		led[i] = m.way.lead(e)
	}
	return m.Prober.Probe(ctx, led, who)
}

// MoveLeader refuses: nothing here changes a cluster.
func (members) MoveLeader(context.Context, etcdprobe.Endpoint, etcdprobe.Credentials, guard.ID) error {
	return fmt.Errorf("this command only reads")
}

// Leads asks over the member's way.
func (m members) Leads(ctx context.Context, e etcdprobe.Endpoint, who etcdprobe.Credentials) guard.Answer {
	return m.Prober.Leads(ctx, m.way.lead(e), who)
}

// directWithin is how long an address is tried before the tunnel is. Pods that
// can be reached answer within milliseconds.
const directWithin = 700 * time.Millisecond

// lead gives the endpoint its way. A pod is known by its name, so that the
// tunnel ends in that very pod.
func (w *Way) lead(e etcdprobe.Endpoint) etcdprobe.Endpoint {
	if w.via == Direct || e.Absent {
		return e
	}
	_, text, err := net.SplitHostPort(e.Address)
	port, numberErr := strconv.Atoi(text)
	if err != nil || numberErr != nil {
		return e
	}
	e.Dial = func(ctx context.Context) (net.Conn, error) {
		if w.via == PortForward || w.known(e.Address) {
			return w.through(ctx, e.Expect, port)
		}
		return w.either(ctx, e, port)
	}
	return e
}

func (w *Way) known(address string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tunnelled[address]
}

// either tries the address first. One that refuses can be reached, and what it
// says is the answer; one that is silent may be beyond a network that we are
// not part of.
func (w *Way) either(ctx context.Context, e etcdprobe.Endpoint, port int) (net.Conn, error) {
	short, cancel := context.WithTimeout(ctx, directWithin)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(short, "tcp", e.Address)
	if err == nil || refused(err) || ctx.Err() != nil {
		return conn, err
	}
	conn, tunnelErr := w.through(ctx, e.Expect, port)
	if tunnelErr != nil {
		return nil, fmt.Errorf("%w; and through the API server: %w", err, tunnelErr)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tunnelled[e.Address] = true
	return conn, nil
}
