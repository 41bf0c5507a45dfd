package e2e

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

// TestThirtyRolls makes -rolls=N rolls of one set in a row, each with leadership
// somewhere else at the start, and prints what each of them came to.
func TestThirtyRolls(t *testing.T) {
	if *rolls == 0 {
		t.Skip("takes many minutes; run it with -rolls=30")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := newStage(t, quick())
	s.direct()
	s.settled()
	var table strings.Builder
	fmt.Fprintf(&table, "roll  leader  moves  unplanned  led  deletions  steps  longest gap  failed writes  time\n")
	for n := range *rolls {
		leader := random.IntN(s.set.Replicas)
		s.leaderAt(leader)
		s.start(etcdset.WithEnv("ROLL", strconv.Itoa(n)))
		r := s.settled()
		safe(t, r)
		once(t, r)
		converged(t, r)
		moves(t, r, map[bool]int{false: 1, true: 2}[leader == s.set.Replicas-1])
		tally := s.writer.Tally(r.From)
		fmt.Fprintf(&table, "%4d  %6d  %5d  %9d  %3d  %9v  %5d  %8d ms  %13d  %.1f s\n", n+1, leader, r.Planned, r.Unplanned, len(r.Led),
			[]int{r.Deletions[0], r.Deletions[1], r.Deletions[2]}, r.Steps, tally.Longest.Took.Milliseconds(), tally.Failed, r.To.Sub(r.From).Seconds())
		if t.Failed() {
			break
		}
	}
	t.Log("\n" + table.String())
}
