package e2e

import (
	"testing"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

// A set with authentication is rolled as the user in the Secret. A password that
// etcd does not accept blocks the roll before anything is touched; the right one
// lets it go on by itself.
func TestET31_AWrongPasswordBlocksUntilItIsCorrected(t *testing.T) {
	t.Parallel()
	s := emptyStage(t)
	s.createAuth(named("etcd"))
	s.formed()
	s.enableAuth()
	s.writeWith(50)
	s.direct()
	s.settled()
	s.leaderAt(2)
	s.password("wrong")
	s.start(etcdset.ToVersion("3.7.3"))
	s.blocked("CredentialsInvalid", "no member accepts the credentials", "invalid user ID or password", "Secret "+rootSecret)
	s.password(rootPassword)
	moves(t, s.happy(), 2)
	s.runs("3.7.3")
}
