package etcdprobe

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

func TestET01_MoveLeaderReachesOneMemberOnly(t *testing.T) {
	fakes := newFakes(t, 3)
	e := endpointsOf(fakes)
	if err := patient().MoveLeader(t.Context(), e[0], Credentials{}, guard.ID(fakeID(2))); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(fakes[0].targets, []uint64{fakeID(2)}) {
		t.Errorf("the leader was asked to move to %x", fakes[0].targets)
	}
	err := patient().MoveLeader(t.Context(), e[1], Credentials{}, guard.ID(fakeID(2)))
	if !errors.Is(err, ErrNotLeader) {
		t.Errorf("a follower gives %v, want ErrNotLeader", err)
	}
	if fakes[0].called("MoveLeader") != 1 || fakes[1].called("MoveLeader") != 1 || fakes[2].accepted.Load() != 0 {
		t.Error("the call went elsewhere, or was repeated")
	}
}

func TestET02_EachMoveHasAConnectionOfItsOwn(t *testing.T) {
	fakes := newFakes(t, 1)
	e := endpointsOf(fakes)[0]
	for n := range int32(3) {
		if err := patient().MoveLeader(t.Context(), e, Credentials{}, 5); err != nil {
			t.Fatal(err)
		}
		if got := fakes[0].accepted.Load(); got != n+1 {
			t.Errorf("after call %d there were %d connections", n+1, got)
		}
		eventually(t, func() bool { return fakes[0].open.Load() == 0 }, "the connection of call %d is still open", n+1)
	}
}

func TestET03_EveryWayAMoveFailsHasItsName(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*fakeMember)
		who     Credentials
		want    error
	}{
		"server gives up":    {failing(status.Error(codes.Unknown, "etcdserver: request timed out, leader transfer took too long")), Credentials{}, ErrTransferTimeout},
		"server times out":   {failing(rpctypes.ErrGRPCTimeout), Credentials{}, ErrTransferTimeout},
		"server hangs":       {func(f *fakeMember) { f.hang["MoveLeader"] = true }, Credentials{}, ErrTransferTimeout},
		"bad candidate":      {failing(rpctypes.ErrGRPCBadLeaderTransferee), Credentials{}, ErrBadTransferee},
		"not the leader":     {failing(rpctypes.ErrGRPCNotLeader), Credentials{}, ErrNotLeader},
		"denied":             {failing(errDenied), Credentials{}, ErrPermissionDenied},
		"user missing":       {failing(rpctypes.ErrGRPCUserEmpty), Credentials{}, ErrUnauthenticated},
		"password refused":   {func(f *fakeMember) { f.auth = true }, Credentials{"ops", "guess"}, ErrUnauthenticated},
		"login not answered": {func(f *fakeMember) { f.auth = true; f.hang["Authenticate"] = true }, Credentials{"ops", "secret"}, ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fakes := newFakes(t, 1)
			c.arrange(fakes[0])
			p := quick()
			p.MoveTimeout = 4 * time.Second
			err := p.MoveLeader(t.Context(), endpointsOf(fakes)[0], c.who, 5)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			for _, other := range []error{ErrNotLeader, ErrTransferTimeout, ErrBadTransferee, ErrPermissionDenied, ErrUnauthenticated, ErrUnreachable, ErrCertificate} {
				if other != c.want && errors.Is(err, other) {
					t.Errorf("error %v is also %v", err, other)
				}
			}
			if n := fakes[0].called("MoveLeader"); n > 1 {
				t.Errorf("the move was asked for %d times", n)
			}
		})
	}
}

func failing(err error) func(*fakeMember) {
	return func(f *fakeMember) { f.fail["MoveLeader"] = err }
}

// Only a move that never left may be called not asked for: a broken
// connection leaves open what happened.
func TestET03_BrokenConnectionIsNotUnreachable(t *testing.T) {
	fakes := newFakes(t, 1)
	e := endpointsOf(fakes)[0]
	fakes[0].hang["MoveLeader"] = true
	ended := make(chan error)
	go func() { ended <- patient().MoveLeader(context.WithoutCancel(t.Context()), e, Credentials{}, 5) }()
	eventually(t, func() bool { return fakes[0].called("MoveLeader") == 1 }, "the move did not arrive")
	fakes[0].stop() // and the address refuses connections from here on
	if err := <-ended; !errors.Is(err, ErrTransferTimeout) || errors.Is(err, ErrUnreachable) {
		t.Errorf("a connection that broke gives %v, want ErrTransferTimeout", err)
	}
	if err := patient().MoveLeader(t.Context(), e, Credentials{}, 5); !errors.Is(err, ErrUnreachable) {
		t.Errorf("a refused connection gives %v, want ErrUnreachable", err)
	}
	p := patient()
	p.MoveTimeout = 200 * time.Millisecond
	if err := p.MoveLeader(t.Context(), Endpoint{Address: blackHole(t)}, Credentials{}, 5); !errors.Is(err, ErrUnreachable) {
		t.Errorf("a silent address gives %v, want ErrUnreachable", err)
	}
	if err := p.MoveLeader(t.Context(), Endpoint{Absent: true}, Credentials{}, 5); !errors.Is(err, ErrUnreachable) {
		t.Errorf("a pod without address gives %v, want ErrUnreachable", err)
	}
}

// The call's answer is not the truth: it may fail and the move succeed.
func TestET03_OnlyAReadingTellsWhoLeads(t *testing.T) {
	fakes := newFakes(t, 3)
	e := endpointsOf(fakes)
	fakes[0].fail["MoveLeader"] = rpctypes.ErrGRPCTimeout
	if err := patient().MoveLeader(t.Context(), e[0], Credentials{}, guard.ID(fakeID(1))); !errors.Is(err, ErrTransferTimeout) {
		t.Fatalf("error %v", err)
	}
	for _, f := range fakes {
		f.set(func(m *fakeMember) { m.status.Leader, m.status.RaftTerm = fakeID(1), 8 })
	}
	r := patient().Probe(t.Context(), e, Credentials{})
	s := guard.Snapshot{Members: r.Members}
	if s.LeaderIndex() != 1 || s.AgreedTerm() != 8 {
		t.Errorf("leader index %d in term %d", s.LeaderIndex(), s.AgreedTerm())
	}
}

func TestLeadsIsTheMembersOwnWord(t *testing.T) {
	fakes := newFakes(t, 3)
	e := endpointsOf(fakes)
	fakes[2].status.Leader = 0
	for i, want := range []guard.Answer{guard.Yes, guard.No, guard.No} {
		if got := patient().Leads(t.Context(), e[i], Credentials{}); got != want {
			t.Errorf("member %d leads: %v, want %v", i, got, want)
		}
		if n := fakes[i].called("Status"); n != 1 {
			t.Errorf("member %d was asked %d times", i, n)
		}
	}
	for name, dead := range map[string]Endpoint{"silent": {Address: blackHole(t)}, "refusing": {Address: refusing(t)}, "absent": {Absent: true}} {
		if got := quick().Leads(t.Context(), dead, Credentials{}); got != guard.Unknown {
			t.Errorf("%s member leads: %v, want unknown", name, got)
		}
	}
	withAuth(fakes)
	fakes[0].statusNeedsUser = true
	if got := patient().Leads(t.Context(), e[0], Credentials{"ops", "secret"}); got != guard.Yes {
		t.Errorf("with a login: %v, want yes", got)
	}
	if got := patient().Leads(t.Context(), e[0], Credentials{"ops", "guess"}); got != guard.Unknown {
		t.Errorf("with a failed login: %v, want unknown", got)
	}
}
