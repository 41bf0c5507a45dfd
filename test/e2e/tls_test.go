package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/audit"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

// A set whose clients and peers must show certificates needs no configuration
// for that. The certificate is replaced in mid-roll: the function takes the new
// one for its next step, without a restart.
func TestET34_ACertificateIsRotatedInMidRoll(t *testing.T) {
	t.Parallel()
	s := emptyStage(t)
	authority := s.createTLS(named("etcd"))
	s.formed()
	s.writeWith(50)
	_, function := s.direct()
	s.settled()
	s.leaderAt(2)
	life := function.PID()
	s.start(etcdset.ToVersion("3.7.3"))
	s.relocked(2)
	rotated := s.issue(authority, s.set.Options)
	s.secret(s.set.TLSSecret, rotated)
	at := time.Now()
	moves(t, s.happy(), 2)
	s.runs("3.7.3")
	s.serves(rotated["tls.crt"])
	if function.PID() != life || function.Deaths() != 0 {
		t.Errorf("the function restarted %d times", function.Deaths())
	}
	if shared.Local() {
		s.readSecretSince(at)
	}
}

// readSecretSince checks in the API server's log that the function has read the
// set's Secret since then.
func (s *stage) readSecretSince(from time.Time) {
	s.Helper()
	entries, err := audit.Between(shared.AuditLog, from, time.Now(), cluster.UserOf(s.namespace, product.FunctionAccount))
	s.must(err)
	if !slices.ContainsFunc(entries, func(e audit.Entry) bool { return e.Object.Resource == "secrets" && e.Object.Name == s.set.TLSSecret }) {
		s.Errorf("Secret %s was not read again", s.set.TLSSecret)
	}
}

// A Secret without a key stops the roll with one clear reason, and the key that
// is added later lets it go on by itself.
func TestET35_AMissingKeyIsNamed(t *testing.T) {
	t.Parallel()
	s := emptyStage(t)
	o := named("etcd")
	o.Config["tls"] = map[string]any{"secretName": "roller"}
	authority := s.createTLS(o)
	whole := s.issue(authority, s.set.Options)
	s.secret("roller", map[string][]byte{"ca.crt": whole["ca.crt"], "tls.crt": whole["tls.crt"]})
	s.formed()
	s.writeWith(50)
	s.direct()
	s.start(etcdset.ToVersion("3.7.3"))
	s.blocked("CredentialsInvalid", "Secret roller key tls.key", "is missing")
	s.secret("roller", whole)
	s.happy()
	s.runs("3.7.3")
}
