package etcdprobe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Why a leader move was not confirmed. Whatever the error, and also without
// one, only what the members say afterwards tells who leads.
var (
	// ErrNotLeader: the member asked does not lead any more.
	ErrNotLeader = errors.New("the member does not lead")
	// ErrTransferTimeout: the move was asked for and not seen to end, for want
	// of time or because the connection broke. It may still end well.
	ErrTransferTimeout = errors.New("the transfer was not seen to end in time")
	// ErrBadTransferee: the candidate is no voting member of the cluster.
	ErrBadTransferee = errors.New("the candidate is no voting member")
	// ErrPermissionDenied: the user lacks the right. From 3.5.28 and in 3.6 a
	// move needs the root role.
	ErrPermissionDenied = errors.New("permission denied")
	// ErrUnauthenticated: etcd did not accept the credentials.
	ErrUnauthenticated = errors.New("credentials not accepted")
	// ErrUnreachable: the member was not reached, so no move was asked for.
	ErrUnreachable = errors.New("the member was not reached")
	// ErrCertificate: a certificate was refused, on either side.
	ErrCertificate = errors.New("certificate refused")
)

// MoveLeader asks the leader at that one endpoint to hand over to the member
// with that id, over a connection made for this call and closed after it. It
// asks once: a lost answer is not asked for again, since the move may have
// happened. The error is a *Failure that wraps one of the sentinels above
// where the cause is known. No error means that the old leader saw the move
// end, and is not proof.
func (p Prober) MoveLeader(ctx context.Context, leader Endpoint, who Credentials, to guard.ID) error {
	p = p.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, p.MoveTimeout)
	defer cancel()
	l, failure := openOne(leader, who, p)
	if failure != nil {
		return transferError(failure)
	}
	defer l.close()
	if _, failure := l.logIn(ctx); failure != nil {
		return transferError(failure)
	}
	l.limit = p.MoveTimeout
	_, failure = call(ctx, l, moveLeader, func(ctx context.Context) (*clientv3.MoveLeaderResponse, error) {
		return l.maintenance.MoveLeader(ctx, uint64(to))
	})
	return transferError(failure)
}

// transferError adds the sentinel that says what to do about the failure.
func transferError(f *Failure) error {
	if f == nil {
		return nil
	}
	if sentinel := transferSentinel(f); sentinel != nil {
		f.cause = errors.Join(sentinel, f.cause)
	}
	return f
}

func transferSentinel(f *Failure) error {
	unanswered := f.Problem == guard.TimedOut || f.Problem == guard.Unreachable
	switch {
	case errors.Is(f.cause, rpctypes.ErrNotLeader):
		return ErrNotLeader
	case errors.Is(f.cause, rpctypes.ErrBadLeaderTransferee):
		return ErrBadTransferee
	case f.Problem == guard.PermissionDenied:
		return ErrPermissionDenied
	case f.Problem == guard.Unauthenticated:
		return ErrUnauthenticated
	case f.Problem == guard.CertificateRefused:
		return ErrCertificate
	case unanswered && (f.Unsent || f.Call != moveLeader):
		return ErrUnreachable
	case unanswered:
		return ErrTransferTimeout
	}
	return nil
}

// moveLeader is the name of the one call that changes anything.
const moveLeader = "MoveLeader"

// Leads asks that one member whether it names itself the leader. Unknown when
// it does not answer.
func (p Prober) Leads(ctx context.Context, e Endpoint, who Credentials) guard.Answer {
	p = p.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, p.CallTimeout)
	defer cancel()
	l, failure := openOne(e, who, p)
	if failure != nil {
		return guard.Unknown
	}
	defer l.close()
	status, failure := l.status(ctx)
	if refused(failure) {
		if _, denied := l.logIn(ctx); denied == nil && l.token != "" {
			status, failure = l.status(ctx)
		}
	}
	switch {
	case failure != nil:
		return guard.Unknown
	case status.Leader != 0 && status.Leader == status.Header.GetMemberId():
		return guard.Yes
	}
	return guard.No
}

// openOne opens a link outside a probe.
func openOne(e Endpoint, who Credentials, p Prober) (*link, *Failure) {
	if e.Absent || strings.TrimSpace(e.Address) == "" {
		words := fmt.Sprintf("%s has no address", e.name())
		return nil, &Failure{Problem: guard.Unreachable, Call: "connect", Words: words, Unsent: true}
	}
	return open(e, who, p.CallTimeout)
}
