package guard

import (
	"fmt"
)

// caughtUp: each member has applied what the leader had committed before we
// asked. Subtraction saturates: a member ahead of that index lags by nothing.
func caughtUp(s Snapshot, p Plan) Finding {
	if s.Limits.CatchUpRatio > 0 {
		return caughtUpByRatio(s, p)
	}
	worst := uint64(0)
	bad := eachMember(s, p, func(_ int, m Member) string {
		lag := Lag(s, m)
		worst = max(worst, lag)
		switch {
		case s.Commit == 0:
			return "cannot be compared: the leader's commit index is unknown"
		case !m.Reached || m.Last.Applied == 0:
			return "did not say what it has applied"
		case lag > 0:
			return fmt.Sprintf("is %d entries behind", lag)
		}
		return ""
	})
	return gateOver(s, bad, fmt.Sprintf("%d entries behind commit index %d", worst, s.Commit), "0 behind the leader's commit index within 2s")
}

// Lag is how many entries the member is behind the leader's commit index.
func Lag(s Snapshot, m Member) uint64 {
	if m.Last.Applied >= s.Commit {
		return 0
	}
	return s.Commit - m.Last.Applied
}

func caughtUpByRatio(s Snapshot, p Plan) Finding {
	lead := s.Member(s.LeaderIndex()).Last.Revision
	need := s.Limits.CatchUpRatio * float64(lead)
	bad := eachMember(s, p, func(_ int, m Member) string {
		if lead > 0 && m.Last.Revision > 0 && float64(m.Last.Revision) >= need {
			return ""
		}
		return fmt.Sprintf("is at revision %d of %d", m.Last.Revision, lead)
	})
	return gateOver(s, bad, fmt.Sprintf("leader at revision %d", lead), fmt.Sprintf("%.0f %% of the leader's revision", 100*s.Limits.CatchUpRatio))
}

// revisionsConsistent: equal applied index implies equal revision. Under load
// the two numbers of one reading are not taken at one instant, so a pair
// counts only when both readings of both members show it.
func revisionsConsistent(s Snapshot, p Plan) Finding {
	var bad []string
	for i := range s.Set.Indexes() {
		for j := range i {
			if p.exempt(i) || p.exempt(j) {
				continue
			}
			a, b := s.Member(i), s.Member(j)
			if contradict(a.First, b.First) && contradict(a.Last, b.Last) {
				bad = append(bad, fmt.Sprintf("%s and %s applied index %d but are at revisions %d and %d",
					s.Set.PodName(j), s.Set.PodName(i), a.Last.Applied, b.Last.Revision, a.Last.Revision))
			}
		}
	}
	return gateOver(s, bad, "no contradiction", "equal applied index has equal revision")
}

func contradict(a, b Sample) bool {
	return a.Applied != 0 && a.Applied == b.Applied && a.Revision != b.Revision
}
