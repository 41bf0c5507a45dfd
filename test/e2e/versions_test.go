package e2e

import (
	"testing"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

func fromVersion(version string) etcdset.Options {
	o := quick()
	o.Version = version
	return o
}

// The step over a minor is refused before the first pod; one minor after the
// other is not.
func TestET27_OneMinorAtATime(t *testing.T) {
	t.Parallel()
	s := newStage(t, fromVersion("3.5.35"))
	s.direct()
	s.settled()
	s.leaderAt(0)
	s.start(etcdset.ToVersion("3.7.3"))
	s.blocked("GatesClosed", "VersionPath", "3.5.35 to 3.7.3 skips a minor version")
	for _, version := range []string{"3.6.16", "3.7.3"} {
		s.leaderAt(1)
		s.start(etcdset.ToVersion(version))
		moves(t, s.happy(), 1)
		s.runs(version)
	}
}

// A patch that the next minor may not follow is refused; the patch that it may
// follow is the way out.
func TestET25_AnOldPatchMayNotBecomeTheNextMinor(t *testing.T) {
	t.Parallel()
	s := newStage(t, fromVersion("3.5.24"))
	s.direct()
	s.settled()
	s.leaderAt(0)
	s.start(etcdset.ToVersion("3.6.16"))
	s.blocked("GatesClosed", "VersionPath", "3.6 needs at least 3.5.26 on every member")
	s.leaderAt(1)
	s.start(etcdset.ToVersion("3.5.35"))
	moves(t, s.happy(), 1)
	s.runs("3.5.35")
}

// Going back is refused until etcd has been told, and then goes on by itself.
func TestET28_ADowngradeMustBeEnabledFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t, fromVersion("3.6.16"))
	s.direct()
	s.settled()
	s.leaderAt(0)
	s.start(etcdset.ToVersion("3.5.35"))
	s.blocked("GatesClosed", "VersionPath", "run etcdctl downgrade enable 3.5 first")
	s.must(s.set.EnableDowngrade(s.ctx, "3.5"))
	moves(t, s.happy(), 1)
	s.runs("3.5.35")
}
