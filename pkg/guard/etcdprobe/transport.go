package etcdprobe

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
)

// phase is how far the connection has come.
type phase uint8

const (
	dialling phase = iota
	dialled
	shaken // TLS handshake done
)

// trace remembers why a connection did not come about. gRPC reports causes as
// text only; kept as errors they can be told apart.
type trace struct {
	mu    sync.Mutex
	phase phase
	cause error
}

func (t *trace) note(p phase, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.phase, t.cause = p, nil
		return
	}
	t.cause = err
}

func (t *trace) last() (phase, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.phase, t.cause
}

// dial opens the connection. As a dialler of our own it also keeps proxies
// from the environment out of the way: they could not reach a pod, or would
// reach another.
func (t *trace) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	t.note(dialled, err)
	return conn, err
}

// way is how the endpoint is dialled: by its address or through its tunnel.
func (t *trace) way(e Endpoint) func(context.Context, string) (net.Conn, error) {
	if e.Dial == nil {
		return t.dial
	}
	return func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := e.Dial(ctx)
		t.note(dialled, err)
		return conn, err
	}
}

// transport is the way to one endpoint, watched by the trace.
func (t *trace) transport(e Endpoint) []grpc.DialOption {
	creds := insecure.NewCredentials()
	if e.TLS != nil {
		creds = watchedTLS{credentials.NewTLS(e.TLS), t}
	}
	return []grpc.DialOption{
		grpc.WithContextDialer(t.way(e)),
		grpc.WithTransportCredentials(creds),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithStatsHandler(sendWatch{}),
	}
}

// watchedTLS is TLS whose failures are kept.
type watchedTLS struct {
	credentials.TransportCredentials
	trace *trace
}

// ClientHandshake verifies the member's certificate.
func (w watchedTLS) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	w.trace.note(shaken, err)
	if err != nil {
		return nil, nil, err
	}
	return watchedConn{conn, w.trace}, info, nil
}

// Clone keeps the watch.
func (w watchedTLS) Clone() credentials.TransportCredentials {
	return watchedTLS{w.TransportCredentials.Clone(), w.trace}
}

// watchedConn notices that the member refuses our certificate. In TLS 1.3 it
// says so only after the handshake, as an alert that the first read finds, or
// that waits behind a write which finds the connection closed already.
type watchedConn struct {
	net.Conn
	trace *trace
}

func (c watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if isAlert(err) {
		c.trace.note(shaken, err)
	}
	return n, err
}

func (c watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		_ = c.SetReadDeadline(time.Now().Add(alertPatience))
		_, _ = c.Read(make([]byte, 1))
	}
	return n, err
}

// alertPatience is how long a broken connection is searched for an alert. It
// has arrived before the break did.
const alertPatience = 50 * time.Millisecond

// isAlert says that the other side ended the connection with a TLS alert.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// sendWatch notes that a call left for the member. Only a call that did not
// leave is known to have had no effect.
type sendWatch struct{}

type sentKey struct{}

// watchSending gives a context whose call sets the flag when it leaves.
func watchSending(ctx context.Context) (context.Context, *atomic.Bool) {
	sent := new(atomic.Bool)
	return context.WithValue(ctx, sentKey{}, sent), sent
}

// HandleRPC sees the request's headers go out on a connection.
func (sendWatch) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, out := s.(*stats.OutHeader); !out {
		return
	}
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

// TagRPC leaves the call as it is.
func (sendWatch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn leaves the connection as it is.
func (sendWatch) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn has nothing to note.
func (sendWatch) HandleConn(context.Context, stats.ConnStats) {}
