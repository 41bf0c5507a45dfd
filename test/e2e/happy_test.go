package e2e

import (
	"fmt"
	"testing"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

// One move is enough unless the leader is the first to go, and then two.
func TestARollMovesTheLeaderAsLittleAsPossible(t *testing.T) {
	for leader, moves := range []int{1, 1, 2} {
		t.Run(fmt.Sprintf("leader at %d", leader), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, etcdset.Options{Config: etcdset.Quick(), Release: "r1"})
			s.direct()
			s.settled() // a new set is marked without any restart
			s.leaderAt(leader)
			s.must(s.set.Apply(s.ctx, etcdset.Template(etcdset.ToVersion("3.7.3"))))
			s.must(s.rolling())
			r := s.settled()
			safe(t, r)
			once(t, r)
			converged(t, r)
			if r.Planned != moves || len(r.Announced) != moves {
				t.Errorf("%d moves, %d announced, want %d", r.Planned, len(r.Announced), moves)
			}
			if got := r.Final.Set.Annotations[events.AnnotationConverged]; got != "r1" {
				t.Errorf("release token %q is marked converged, want r1", got)
			}
			s.logRoll(r)
		})
	}
}
