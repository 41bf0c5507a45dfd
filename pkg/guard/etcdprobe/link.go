package etcdprobe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// link is the one connection to one member. The calls are etcd's client API
// over a bare connection: its client would bring a balancer, a retry loop and
// a logger, none of which may stand between a question and this very member.
type link struct {
	endpoint Endpoint
	who      Credentials
	limit    time.Duration // for each call
	conn     *grpc.ClientConn
	trace    *trace
	token    string

	connected atomic.Bool // some call has left on the connection

	maintenance clientv3.Maintenance
	cluster     clientv3.Cluster
	kv          clientv3.KV
	auth        clientv3.Auth
}

// open prepares a link; the connection is made with the first call.
func open(e Endpoint, who Credentials, limit time.Duration) (*link, *Failure) {
	t := &trace{}
	if err := e.check(); err != nil {
		return nil, &Failure{Problem: guard.CertificateRefused, Call: "connect", Words: err.Error(), cause: err}
	}
	conn, err := grpc.NewClient("passthrough:///"+e.Address, t.transport(e)...)
	if err != nil {
		return nil, &Failure{Problem: guard.OtherProblem, Call: "connect", Words: err.Error(), cause: err}
	}
	return &link{
		endpoint: e, who: who, limit: limit, conn: conn, trace: t,
		maintenance: clientv3.NewMaintenanceFromMaintenanceClient(etcdserverpb.NewMaintenanceClient(conn), nil),
		cluster:     clientv3.NewClusterFromClusterClient(etcdserverpb.NewClusterClient(conn), nil),
		kv:          clientv3.NewKVFromKVClient(etcdserverpb.NewKVClient(conn), nil),
		auth:        clientv3.NewAuthFromAuthClient(etcdserverpb.NewAuthClient(conn), nil),
	}, nil
}

// close ends the connection and every call still under way on it.
func (l *link) close() { _ = l.conn.Close() }

// serverName is the name that the member's certificate must carry.
func (l *link) serverName() string {
	if l.endpoint.TLS != nil && l.endpoint.TLS.ServerName != "" {
		return l.endpoint.TLS.ServerName
	}
	host, _, _ := net.SplitHostPort(l.endpoint.Address)
	return host
}

// call runs one call under its own deadline, with the token if there is one.
// Without time left it asks nothing.
func call[R any](ctx context.Context, l *link, name string, ask func(context.Context) (R, error)) (R, *Failure) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, l.unasked(name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	if l.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, l.token)
	}
	ctx, sent := watchSending(ctx)
	start := time.Now()
	answer, err := ask(ctx)
	if sent.Load() {
		l.connected.Store(true)
	}
	if err != nil {
		return none, l.explain(name, time.Since(start), sent.Load(), err)
	}
	return answer, nil
}

// logIn gets a token for the user. Its answer also tells whether
// authentication is enabled.
func (l *link) logIn(ctx context.Context) (enabled guard.Answer, failure *Failure) {
	if l.who.Password == "" {
		return guard.Unknown, nil
	}
	answer, failure := call(ctx, l, "Authenticate", func(ctx context.Context) (*clientv3.AuthenticateResponse, error) {
		return l.auth.Authenticate(ctx, l.who.User, l.who.Password)
	})
	switch {
	case failure == nil:
		l.token = answer.Token
		return guard.Yes, nil
	case errors.Is(failure, rpctypes.ErrAuthNotEnabled):
		return guard.No, nil
	case failure.Problem == guard.Unauthenticated:
		return guard.Yes, failure
	}
	return guard.Unknown, failure
}

func (l *link) status(ctx context.Context) (*clientv3.StatusResponse, *Failure) {
	return call(ctx, l, "Status", func(ctx context.Context) (*clientv3.StatusResponse, error) {
		return l.maintenance.Status(ctx, l.endpoint.Address)
	})
}

// peers is the member's own view of the membership. Asked serializable, so
// that it is this member's and can be read without a quorum.
func (l *link) peers(ctx context.Context) ([]guard.Peer, *Failure) {
	answer, failure := call(ctx, l, "MemberList", func(ctx context.Context) (*clientv3.MemberListResponse, error) {
		return l.cluster.MemberList(ctx, clientv3.WithSerializable())
	})
	if failure != nil {
		return nil, failure
	}
	peers := make([]guard.Peer, 0, len(answer.Members))
	for _, m := range answer.Members {
		peers = append(peers, guard.Peer{ID: guard.ID(m.ID), Name: m.Name, Learner: m.IsLearner})
	}
	return peers, nil
}

// readKey need not exist: the read is about the quorum that confirms it.
const readKey = "etcdroll"

// read asks for one linearizable read. A member that says no for lack of
// rights on the key has had the read confirmed before it looked at rights.
// But etcd says the same to a certificate whose name is no user at all, so
// without a login it is asked who we are.
func (l *link) read(ctx context.Context) (guard.Answer, *Failure) {
	_, failure := call(ctx, l, "Range", func(ctx context.Context) (*clientv3.GetResponse, error) {
		return l.kv.Get(ctx, readKey, clientv3.WithCountOnly())
	})
	switch {
	case failure == nil:
		return guard.Yes, nil
	case failure.Problem == guard.PermissionDenied && l.token == "":
		return l.isUser(ctx)
	case failure.Problem == guard.PermissionDenied:
		return guard.Yes, nil
	}
	return guard.No, failure
}

// isUser asks whether the name in our certificate is a user. Only an
// administrator may list users; others who are users are denied, and who is
// no user is told so.
func (l *link) isUser(ctx context.Context) (guard.Answer, *Failure) {
	_, failure := call(ctx, l, "UserList", func(ctx context.Context) (*clientv3.AuthUserListResponse, error) {
		return l.auth.UserList(ctx)
	})
	if failure == nil || failure.Problem == guard.PermissionDenied {
		return guard.Yes, nil
	}
	return guard.No, failure
}

func (l *link) alarms(ctx context.Context) ([]guard.Alarm, *Failure) {
	answer, failure := call(ctx, l, "Alarm", func(ctx context.Context) (*clientv3.AlarmResponse, error) {
		return l.maintenance.AlarmList(ctx)
	})
	if failure != nil {
		return nil, failure
	}
	var raised []guard.Alarm
	for _, a := range answer.Alarms {
		kind, text := alarmKind(a.Alarm)
		raised = append(raised, guard.Alarm{Member: guard.ID(a.MemberID), Kind: kind, Text: text})
	}
	return raised, nil
}

func alarmKind(t etcdserverpb.AlarmType) (guard.AlarmKind, string) {
	switch t {
	case etcdserverpb.AlarmType_NOSPACE:
		return guard.AlarmNoSpace, t.String()
	case etcdserverpb.AlarmType_CORRUPT:
		return guard.AlarmCorrupt, t.String()
	}
	return guard.AlarmOther, fmt.Sprintf("unknown alarm type %d", t)
}

// authEnabled asks whether etcd checks who is asking. A refusal says yes.
func (l *link) authEnabled(ctx context.Context) guard.Answer {
	answer, failure := call(ctx, l, "AuthStatus", func(ctx context.Context) (*clientv3.AuthStatusResponse, error) {
		return l.auth.AuthStatus(ctx)
	})
	switch {
	case failure == nil && answer.Enabled:
		return guard.Yes
	case failure == nil:
		return guard.No
	case failure.Problem == guard.PermissionDenied || failure.Problem == guard.Unauthenticated:
		return guard.Yes
	case codeOf(failure.cause) == codes.Unimplemented:
		return l.authEnabledBefore35(ctx)
	}
	return guard.Unknown
}

// authEnabledBefore35 knocks without a name: AuthStatus is new in 3.5, and
// older members look whether authentication is enabled before they look at
// the user.
func (l *link) authEnabledBefore35(ctx context.Context) guard.Answer {
	_, failure := call(ctx, l, "Authenticate", func(ctx context.Context) (*clientv3.AuthenticateResponse, error) {
		return l.auth.Authenticate(ctx, "", "")
	})
	switch {
	case failure != nil && errors.Is(failure, rpctypes.ErrAuthNotEnabled):
		return guard.No
	case failure != nil && failure.Problem == guard.Unauthenticated:
		return guard.Yes
	}
	return guard.Unknown
}
