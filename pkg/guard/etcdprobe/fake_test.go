package etcdprobe

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/etcdroll/etcdroll/pkg/guard"
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

	statusNeedsUser bool // as from 3.5.28 on

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
	case !m.auth:
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

type fakeMaintenance struct {
	pb.UnimplementedMaintenanceServer
	m *fakeMember
}

func (f fakeMaintenance) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	if err := f.m.enter(ctx, "Status"); err != nil {
		return nil, err
	}
	if err := f.m.known(ctx); err != nil && f.m.statusNeedsUser {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.statuses++
	if f.m.onStatus != nil {
		f.m.onStatus(f.m.statuses, &f.m.status)
	}
	s := &f.m.status
	return &pb.StatusResponse{
		Header: &pb.ResponseHeader{ClusterId: s.Header.ClusterId, MemberId: s.Header.MemberId, Revision: s.Header.Revision},
		Leader: s.Leader, RaftTerm: s.RaftTerm, RaftIndex: s.RaftIndex, RaftAppliedIndex: s.RaftAppliedIndex,
		Version: s.Version, DbSize: s.DbSize, DbSizeQuota: s.DbSizeQuota, IsLearner: s.IsLearner,
		DowngradeInfo: s.DowngradeInfo, Errors: slices.Clone(s.Errors),
	}, nil
}

func (f fakeMaintenance) Alarm(ctx context.Context, r *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	if err := f.m.enter(ctx, "Alarm"+r.Action.String()); err != nil {
		return nil, err
	}
	if err := f.m.known(ctx); err != nil {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return &pb.AlarmResponse{Alarms: f.m.alarms}, nil
}

func (f fakeMaintenance) MoveLeader(ctx context.Context, r *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	f.m.set(func(m *fakeMember) { m.targets = append(m.targets, r.TargetID) })
	if err := f.m.enter(ctx, "MoveLeader"); err != nil {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.m.status.Leader != f.m.status.Header.MemberId {
		return nil, rpctypes.ErrGRPCNotLeader
	}
	return &pb.MoveLeaderResponse{}, nil
}

func (f fakeMaintenance) HashKV(ctx context.Context, _ *pb.HashKVRequest) (*pb.HashKVResponse, error) {
	if err := f.m.enter(ctx, "HashKV"); err != nil {
		return nil, err
	}
	return &pb.HashKVResponse{Hash: f.m.hash.Hash, CompactRevision: f.m.hash.CompactRevision}, nil
}

type fakeCluster struct {
	pb.UnimplementedClusterServer
	m *fakeMember
}

func (f fakeCluster) MemberList(ctx context.Context, r *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	call := "MemberList"
	if r.Linearizable {
		call = "MemberListLinearizable"
	}
	if err := f.m.enter(ctx, call); err != nil {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return &pb.MemberListResponse{Members: f.m.peers}, nil
}

type fakeKV struct {
	pb.UnimplementedKVServer
	m *fakeMember
}

func (f fakeKV) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	call := "Range"
	if r.Serializable {
		call = "RangeSerializable"
	}
	if err := f.m.enter(ctx, call); err != nil {
		return nil, err
	}
	if err := f.m.known(ctx); err != nil {
		return nil, err
	}
	return &pb.RangeResponse{}, nil
}

type fakeAuth struct {
	pb.UnimplementedAuthServer
	m *fakeMember
}

func (f fakeAuth) Authenticate(ctx context.Context, r *pb.AuthenticateRequest) (*pb.AuthenticateResponse, error) {
	if err := f.m.enter(ctx, "Authenticate"); err != nil {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	switch {
	case !f.m.auth:
		return nil, rpctypes.ErrGRPCAuthNotEnabled
	case r.Name == "" || f.m.users[r.Name] != r.Password:
		return nil, rpctypes.ErrGRPCAuthFailed
	}
	return &pb.AuthenticateResponse{Token: "token-of-" + r.Name}, nil
}

func (f fakeAuth) AuthStatus(ctx context.Context, _ *pb.AuthStatusRequest) (*pb.AuthStatusResponse, error) {
	if err := f.m.enter(ctx, "AuthStatus"); err != nil {
		return nil, err
	}
	if err := f.m.known(ctx); err != nil {
		return nil, err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return &pb.AuthStatusResponse{Enabled: f.m.auth}, nil
}

func (f fakeAuth) UserList(ctx context.Context, _ *pb.AuthUserListRequest) (*pb.AuthUserListResponse, error) {
	if err := f.m.enter(ctx, "UserList"); err != nil {
		return nil, err
	}
	return nil, errDenied
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

// quick is a Prober whose patience suits a test.
func quick() Prober {
	return Prober{CallTimeout: 400 * time.Millisecond, CatchUpWindow: 300 * time.Millisecond, PollEvery: 10 * time.Millisecond, MaxLag: 5000}
}

// judge evaluates the gates over the reading, with a set, pods and template
// that object to nothing.
func judge(r Reading, plan guard.Plan, change ...func(*guard.Snapshot)) guard.Verdict {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := guard.Snapshot{
		Now: now,
		Set: guard.Set{
			Name: "etcd", Namespace: "db", UID: "u", Managed: true, Generation: 3, ObservedGeneration: 3,
			Strategy: guard.RollingUpdate, Management: guard.OrderedReady, MaxUnavailable: 1,
			Replicas: len(r.Members), StatusReplicas: len(r.Members), Partition: len(r.Members),
			CurrentRevision: "etcd-old", UpdateRevision: "etcd-new",
		},
		Probed: true, Members: r.Members, Commit: r.Commit, AlarmsRead: r.AlarmsRead, Alarms: r.Alarms, Auth: r.Auth,
		Template: guard.Template{Data: guard.Persistent, Grace: 30 * time.Second, Version: "3.6.16"},
		Limits:   guard.DefaultLimits(),
	}
	for range r.Members {
		s.Pods = append(s.Pods, guard.Pod{Exists: true, Owned: true, Ready: true, Revision: "etcd-old",
			ReadyChanged: now.Add(-time.Hour), Started: now.Add(-time.Hour)})
	}
	for _, c := range change {
		c(&s)
	}
	return guard.Judge(s, plan)
}

// wantClosed asserts which gates object, and no others.
func wantClosed(t *testing.T, v guard.Verdict, gates ...guard.Gate) {
	t.Helper()
	var closed []guard.Gate
	for _, f := range v.Objections() {
		closed = append(closed, f.Gate)
	}
	if !slices.Equal(closed, gates) {
		for _, f := range v.Objections() {
			t.Logf("%s: %s (wanted %s)", f.Gate, f.Measured, f.Threshold)
		}
		t.Errorf("closed gates are %v, want %v", closed, gates)
	}
}
