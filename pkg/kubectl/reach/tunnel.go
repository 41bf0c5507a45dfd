package reach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// tunnel is the API server's port-forward to the pods of a namespace.
type tunnel struct {
	config    *rest.Config
	client    kubernetes.Interface
	namespace string
}

// dial opens a tunnel of its own for each connection, as the prober opens one
// connection per member: when it is closed, nothing is left behind.
func (t tunnel) dial(ctx context.Context, pod string, port int) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := t.open(pod, port)
		done <- result{conn, err}
	}()
	select {
	case r := <-done:
		return r.conn, r.err
	case <-ctx.Done():
		go func() { // the upgrade takes no context
			if r := <-done; r.conn != nil {
				_ = r.conn.Close()
			}
		}()
		return nil, fmt.Errorf("port-forward to %s: %w", pod, ctx.Err())
	}
}

func (t tunnel) open(pod string, port int) (net.Conn, error) {
	dialer, err := t.dialer(pod)
	if err != nil {
		return nil, fmt.Errorf("port-forward to %s: %w", pod, err)
	}
	connection, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("port-forward to %s: %w", pod, err)
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		_ = connection.Close()
		return nil, fmt.Errorf("port-forward to %s: the server speaks %q", pod, protocol)
	}
	conn, err := stream(connection, pod, port)
	if err != nil {
		_ = connection.Close()
		return nil, fmt.Errorf("port-forward to %s: %w", pod, err)
	}
	return conn, nil
}

// dialer speaks over WebSocket and, to servers that do not know that, SPDY.
func (t tunnel) dialer(pod string) (httpstream.Dialer, error) {
	url := t.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(t.namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(t.config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	newer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, t.config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(newer, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// stream asks for one connection to the port. The far end tells of failures,
// such as that nobody listens, on a stream of their own.
func stream(connection httpstream.Connection, pod string, port int) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	complaints, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = complaints.Close() // nothing is sent on it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe() // has deadlines, which a stream has not
	c := &conn{Conn: near, pod: pod, connection: connection}
	go c.listen(complaints)
	go c.pump(data, far)
	go c.pump(far, data)
	return c, nil
}

// conn is the near end of a tunnel.
type conn struct {
	net.Conn
	pod        string
	connection httpstream.Connection
	complaint  atomic.Pointer[string]
}

// Read tells what the far end complained of instead of a mere end.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if text := c.complaint.Load(); err != nil && text != nil {
		err = fmt.Errorf("port-forward to %s: %s", c.pod, *text)
	}
	return n, err
}

func (c *conn) pump(to io.WriteCloser, from io.Reader) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = c.Close()
}

// listen ends the connection when the far end complains.
func (c *conn) listen(complaints io.Reader) {
	text, _ := io.ReadAll(io.LimitReader(complaints, 1<<10))
	if line := strings.Join(strings.Fields(string(text)), " "); line != "" {
		c.complaint.Store(&line)
		_ = c.Close()
	}
}

// Close ends the tunnel with the connection.
func (c *conn) Close() error {
	err := c.Conn.Close()
	return errors.Join(err, c.connection.Close())
}
