package reach

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// member is an etcd member that tells its status and nothing else.
type member struct {
	pb.UnimplementedMaintenanceServer
	id uint64
}

func (m member) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: m.id, ClusterId: 77}, Version: "3.6.16", Leader: m.id, RaftTerm: 3, RaftIndex: 9, RaftAppliedIndex: 9}, nil
}

// startMember gives the address of a member on loopback.
func startMember(t *testing.T, id uint64) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterMaintenanceServer(server, member{id: id})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// forwarder is an API server that forwards to pods over SPDY, and does not
// know WebSocket.
type forwarder struct {
	t    *testing.T
	pods map[string]string // address by pod

	mu     sync.Mutex
	asked  []string // pod:port
	closed int
}

func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/") // /api/v1/namespaces/db/pods/NAME/portforward
	if r.Method != http.MethodPost || len(parts) != 8 || parts[7] != "portforward" {
		http.Error(w, "only SPDY here", http.StatusBadRequest)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 4)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if connection == nil {
		return
	}
	f.serve(parts[6], streams, connection.CloseChan())
	_ = connection.Close()
	f.mu.Lock()
	f.closed++
	f.mu.Unlock()
}

// serve forwards one connection; the error stream comes first.
func (f *forwarder) serve(pod string, streams <-chan httpstream.Stream, ended <-chan bool) {
	complaints, data := <-streams, <-streams
	f.mu.Lock()
	f.asked = append(f.asked, pod+":"+data.Headers().Get(corev1.PortHeader))
	f.mu.Unlock()
	conn, err := net.Dial("tcp", f.pods[pod])
	if err != nil {
		_, _ = io.WriteString(complaints, "error forwarding port: nobody listens in pod "+pod)
		_ = complaints.Close()
		<-ended
		return
	}
	go func() { _, _ = io.Copy(data, conn) }()
	go func() { _, _ = io.Copy(conn, data); _ = conn.Close() }()
	<-ended
	_ = conn.Close()
}

// start gives the tunnel to the forwarder's pods.
func (f *forwarder) start() Dialer {
	server := httptest.NewServer(f)
	f.t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		f.t.Fatal(err)
	}
	return tunnel{config: config, client: client, namespace: "db"}.dial
}
