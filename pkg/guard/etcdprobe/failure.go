package etcdprobe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Failure is a call that a member did not answer as wanted.
type Failure struct {
	Problem guard.Problem
	Call    string // name of the call in etcd's API
	Words   string // what went wrong, in one clause
	Unsent  bool   // the call never left for the member
	cause   error
}

// Error gives the call and what went wrong with it.
func (f *Failure) Error() string { return f.Call + ": " + f.Words }

// Unwrap gives the sentinel or the error underneath.
func (f *Failure) Unwrap() error { return f.cause }

// refusals are the answers that mean "not with these credentials". Some
// patches of 3.5 let the text of the inner error through unmapped.
var refusals = []error{
	rpctypes.ErrAuthFailed, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrInvalidAuthToken,
}

// notIdentified says that etcd does not know who is asking.
func notIdentified(err error) bool {
	for _, r := range refusals {
		if errors.Is(err, r) {
			return true
		}
	}
	text := err.Error()
	return status.Code(err) == codes.Unauthenticated ||
		strings.Contains(text, "auth: user name is empty") || strings.Contains(text, "auth: invalid auth token")
}

// notPermitted says that etcd knows who is asking and says no.
func notPermitted(err error) bool {
	return errors.Is(err, rpctypes.ErrPermissionDenied) || codeOf(err) == codes.PermissionDenied ||
		strings.Contains(err.Error(), "auth: permission denied")
}

// codeOf is the gRPC code, also of an error that rpctypes has mapped.
func codeOf(err error) codes.Code {
	var mapped rpctypes.EtcdError
	switch {
	case errors.As(err, &mapped):
		return mapped.Code()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return status.FromContextError(err).Code()
	}
	return status.Code(err)
}

// explain turns the error of a call into a failure that names its kind.
func (l *link) explain(call string, took time.Duration, sent bool, err error) *Failure {
	f := &Failure{Problem: guard.OtherProblem, Call: call, Words: status.Convert(err).Message(), Unsent: !sent, cause: err}
	code := codeOf(err)
	switch {
	case notIdentified(err):
		f.Problem, f.Words = guard.Unauthenticated, fmt.Sprintf("%s (%s)", etcdWords(err), l.who)
	case notPermitted(err):
		f.Problem, f.Words = guard.PermissionDenied, fmt.Sprintf("permission denied (%s)", l.who)
	case code == codes.Canceled:
		f.Words = "given up by the caller"
	case !sent && l.unconnected(f, code, took):
	case code == codes.DeadlineExceeded:
		f.Problem, f.Words = guard.TimedOut, "no answer within "+rounded(took)
	case strings.HasPrefix(etcdWords(err), "request timed out"):
		f.Problem, f.Words = guard.TimedOut, etcdWords(err)
	case code == codes.Unavailable && !strings.HasPrefix(f.Words, "etcdserver: "):
		f.Problem, f.Words = guard.Unreachable, l.brokenWords(f.Words)
	default:
		f.Words = etcdWords(err)
	}
	return f
}

// unasked is the failure of a call for which no time was left.
func (l *link) unasked(call string, err error) *Failure {
	f := &Failure{Problem: guard.TimedOut, Call: call, Words: "not asked, no time was left", Unsent: true, cause: err}
	if errors.Is(err, context.Canceled) {
		f.Problem, f.Words = guard.OtherProblem, "given up by the caller"
	}
	return f
}

// unconnected explains why there was no connection to send the call on; false
// when that is not known.
func (l *link) unconnected(f *Failure, code codes.Code, took time.Duration) bool {
	if code != codes.Unavailable && code != codes.DeadlineExceeded {
		return false
	}
	phase, cause := l.trace.last()
	where := l.endpoint.Address
	switch {
	case cause == nil && l.connected.Load():
		return false
	case cause == nil && phase == dialling:
		f.Problem, f.Words = guard.TimedOut, fmt.Sprintf("no connection to %s within %s", where, rounded(took))
	case cause == nil && code == codes.DeadlineExceeded:
		f.Problem, f.Words = guard.TimedOut, fmt.Sprintf("%s took the connection and stayed silent for %s", where, rounded(took))
	case cause == nil:
		return false
	case isDialError(cause):
		f.Problem, f.Words = guard.Unreachable, dialWords(where, cause)
	default:
		f.Problem, f.Words = l.handshakeWords(cause)
	}
	if cause != nil {
		f.cause = errors.Join(f.cause, cause)
	}
	return true
}

// brokenWords is gRPC's account of a connection that ended.
func (l *link) brokenWords(text string) string {
	if l.endpoint.TLS == nil && strings.Contains(text, "server preface") {
		return l.endpoint.Address + " closed the connection at once; it may expect TLS"
	}
	return text
}

func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func dialWords(where string, cause error) string {
	var op *net.OpError
	if errors.As(cause, &op) && op.Err != nil {
		cause = op.Err
	}
	text := strings.TrimPrefix(cause.Error(), "connect: ")
	return fmt.Sprintf("no connection to %s: %s", where, text)
}

// handshakeWords says which certificate was refused, by whom and why.
func (l *link) handshakeWords(cause error) (guard.Problem, string) {
	who := fmt.Sprintf("certificate of %s at %s refused", l.serverName(), l.endpoint.Address)
	var (
		invalid x509.CertificateInvalidError
		issuer  x509.UnknownAuthorityError
		name    x509.HostnameError
		record  tls.RecordHeaderError
		verify  *tls.CertificateVerificationError
	)
	switch {
	case isAlert(cause):
		_, alert, _ := strings.Cut(cause.Error(), "tls: ")
		return guard.CertificateRefused, fmt.Sprintf("%s refused our client certificate: %s", l.endpoint.Address, alert)
	case errors.As(cause, &invalid) && invalid.Reason == x509.Expired:
		return guard.CertificateRefused, who + ": " + validity(invalid.Cert)
	case errors.As(cause, &issuer):
		return guard.CertificateRefused, who + ": signed by an unknown authority"
	case errors.As(cause, &name):
		return guard.CertificateRefused, who + ": name mismatch, " + strings.TrimPrefix(name.Error(), "x509: ")
	case errors.As(cause, &verify):
		return guard.CertificateRefused, who + ": " + strings.TrimPrefix(verify.Err.Error(), "x509: ")
	case errors.As(cause, &record):
		return guard.OtherProblem, l.endpoint.Address + " does not speak TLS"
	case errors.Is(cause, context.DeadlineExceeded):
		return guard.TimedOut, l.endpoint.Address + " did not finish the TLS handshake"
	}
	return guard.Unreachable, fmt.Sprintf("TLS handshake with %s: %s", l.endpoint.Address, cause)
}

// validity says on which side of its time a certificate is.
func validity(c *x509.Certificate) string {
	if time.Now().Before(c.NotBefore) {
		return "not valid before " + c.NotBefore.UTC().Format(time.RFC3339)
	}
	return "expired at " + c.NotAfter.UTC().Format(time.RFC3339)
}

// etcdWords is the server's message without its prefix.
func etcdWords(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok {
		text = s.Message()
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, "etcdserver: "), "auth: ")
}

func rounded(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }
