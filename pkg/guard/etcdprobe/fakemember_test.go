package etcdprobe

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
)

// fakeMember is an etcd member that says what a test wants it to say. It is
// for what a real one cannot be talked into.
type fakeMember struct {
	address  string
	stop     func()
	accepted atomic.Int32 // connections taken
	open     atomic.Int32 // connections not closed yet

	mu       sync.Mutex
	status   pb.StatusResponse // the next Status
	statuses int               // answered so far
	onStatus func(n int, s *pb.StatusResponse)
	peers    []*pb.Member
	alarms   []*pb.AlarmMember
	auth     bool
	users    map[string]string

	statusNeedsUser   bool // as from 3.5.28 on
	certificateIsUser bool // whoever connects is known without a token

	fail    map[string]error // by call
	hang    map[string]bool
	slow    map[string]time.Duration
	calls   []string
	targets []uint64 // of MoveLeader
	hash    pb.HashKVResponse
}

// enter notes the call and plays the trouble arranged for it.
func (m *fakeMember) enter(ctx context.Context, call string) error {
	m.mu.Lock()
	m.calls = append(m.calls, call)
	err, hang, slow := m.fail[call], m.hang[call], m.slow[call]
	m.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return ctx.Err()
	}
	return err
}

// known says whether the caller showed a token, as etcd asks for it.
func (m *fakeMember) known(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.auth || m.certificateIsUser:
		return nil
	case len(md.Get(rpctypes.TokenFieldNameGRPC)) == 0:
		return rpctypes.ErrGRPCUserEmpty
	}
	return nil
}

func (m *fakeMember) called(call string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, c := range m.calls {
		if c == call {
			n++
		}
	}
	return n
}

func (m *fakeMember) set(change func(*fakeMember)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

// countingListener counts connections, so that a test can see that none is
// left and none was made behind its back.
type countingListener struct {
	net.Listener
	m *fakeMember
}

func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.m.accepted.Add(1)
	l.m.open.Add(1)
	return &countedConn{Conn: conn, m: l.m}, nil
}

type countedConn struct {
	net.Conn
	m    *fakeMember
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.m.open.Add(-1) })
	return c.Conn.Close()
}

// The ids of the fake members lie beyond what a float64 can hold exactly.
const (
	fakeClusterID = uint64(0xcdf818194e3a8c32)
	fakeFirstID   = uint64(0x8e9e05c52164694d)
	fakeIndex     = uint64(1000)
)

func fakeID(i int) uint64 { return fakeFirstID + uint64(i) }

// newFakes starts n members that are well; the one at index 0 leads.
func newFakes(t *testing.T, n int) []*fakeMember { return newFakesTLS(t, n, nil) }

func newFakesTLS(t *testing.T, n int, server *tls.Config) []*fakeMember {
	t.Helper()
	var peers []*pb.Member
	for i := range n {
		peers = append(peers, &pb.Member{ID: fakeID(i), Name: fmt.Sprintf("etcd-%d", i)})
	}
	fakes := make([]*fakeMember, n)
	for i := range n {
		fakes[i] = &fakeMember{
			peers: peers, fail: map[string]error{}, hang: map[string]bool{}, slow: map[string]time.Duration{},
			hash: pb.HashKVResponse{Hash: 42, CompactRevision: 7},
		}
		fakes[i].status.Header = &pb.ResponseHeader{ClusterId: fakeClusterID, MemberId: fakeID(i), Revision: 500}
		fakes[i].status.Leader, fakes[i].status.RaftTerm = fakeID(0), 7
		fakes[i].status.RaftIndex, fakes[i].status.RaftAppliedIndex = fakeIndex, fakeIndex
		fakes[i].status.Version, fakes[i].status.DbSize, fakes[i].status.DbSizeQuota = "3.6.16", 1<<20, 2<<30
		serveFake(t, fakes[i], server)
	}
	return fakes
}

func serveFake(t *testing.T, m *fakeMember, config *tls.Config) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.address = listener.Addr().String()
	var options []grpc.ServerOption
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	server := grpc.NewServer(options...)
	pb.RegisterMaintenanceServer(server, fakeMaintenance{m: m})
	pb.RegisterClusterServer(server, fakeCluster{m: m})
	pb.RegisterKVServer(server, fakeKV{m: m})
	pb.RegisterAuthServer(server, fakeAuth{m: m})
	go func() { _ = server.Serve(countingListener{listener, m}) }()
	m.stop = server.Stop
	t.Cleanup(server.Stop)
}

func endpointsOf(fakes []*fakeMember) []Endpoint {
	var all []Endpoint
	for i, f := range fakes {
		all = append(all, Endpoint{Index: i, Address: f.address, Expect: fmt.Sprintf("etcd-%d", i)})
	}
	return all
}

// blackHole is an address that takes connections and never says a word.
func blackHole(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// patient is a Prober for tests in which every call is answered. Its times
// run out on no machine, however busy.
func patient() Prober {
	return Prober{CallTimeout: 30 * time.Second, MoveTimeout: 30 * time.Second, CatchUpWindow: 20 * time.Second, PollEvery: 5 * time.Millisecond, MaxLag: 5000}
}

// quick is a Prober for tests in which time runs out. What else they ask is
// still answered long before.
func quick() Prober {
	return Prober{CallTimeout: 3 * time.Second, CatchUpWindow: 300 * time.Millisecond, PollEvery: 10 * time.Millisecond, MaxLag: 5000}
}
