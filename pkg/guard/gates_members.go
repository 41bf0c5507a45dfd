package guard

import (
	"fmt"
	"strings"
	"time"
)

// eachMember collects what fault says of every member that must be well.
func eachMember(s Snapshot, p Plan, fault func(i int, m Member) string) []string {
	if !s.Probed {
		return nil // gateOver says so, once for all of them
	}
	var bad []string
	for i := range s.Set.Indexes() {
		if p.exempt(i) || p.answering && !s.Member(i).Reached {
			continue
		}
		if f := fault(i, s.Member(i)); f != "" {
			bad = append(bad, s.Set.PodName(i)+" "+f)
		}
	}
	return bad
}

// gateOver turns the collected faults into a finding. A set without replicas
// or without a probe has nothing that was found good.
func gateOver(s Snapshot, bad []string, good, threshold string) Finding {
	switch {
	case !s.Probed:
		return object("members were not asked", threshold)
	case s.Set.Replicas < 1:
		return object("no replicas", threshold)
	case len(bad) > 0:
		return object(strings.Join(bad, "; "), threshold)
	}
	return pass(good, threshold)
}

// membersReachable: every member answered Status on a connection of its own.
func membersReachable(s Snapshot, p Plan) Finding {
	bad := eachMember(s, p, func(_ int, m Member) string {
		switch {
		case m.Reached && m.ID != 0:
			return ""
		case m.Detail != "":
			return "did not answer: " + m.Detail
		}
		return "did not answer"
	})
	return gateOver(s, bad, "all answered", "every member answers Status")
}

// linearizableRead: each voter can get a read confirmed by a quorum.
func linearizableRead(s Snapshot, p Plan) Finding {
	bad := eachMember(s, p, func(_ int, m Member) string {
		if m.Read == Yes {
			return ""
		}
		return "gave no linearizable read" + detail(m)
	})
	return gateOver(s, bad, "all answered", "every voter answers a linearizable read")
}

func detail(m Member) string {
	if m.Detail == "" {
		return ""
	}
	return ": " + m.Detail
}

// membershipMatches: the members are exactly the pods, in everybody's view,
// and the same ones as when the roll began.
func membershipMatches(s Snapshot, p Plan) Finding {
	cluster, first := ID(0), -1
	bad := eachMember(s, p, func(i int, m Member) string {
		if cluster == 0 {
			cluster, first = m.Cluster, i
		}
		if twin := twinOf(s, i); twin >= 0 {
			return fmt.Sprintf("answers as member %s, and so does %s", m.ID, s.Set.PodName(twin))
		}
		return membershipFault(s, i, m, s.Member(first), cluster)
	})
	if b := s.Baseline.Cluster; b != 0 && cluster != 0 && b != cluster {
		bad = append(bad, fmt.Sprintf("cluster id %s, was %s when the roll began", cluster, b))
	}
	return gateOver(s, bad, fmt.Sprintf("%d voters in every view", s.Set.Replicas),
		fmt.Sprintf("%d started voters, the pods' own, unchanged", s.Set.Replicas))
}

// twinOf is another pod behind whose address the same member answers, as with
// a copied data directory or an address that was given away; -1 when none.
func twinOf(s Snapshot, i int) int {
	for j := range i {
		if m := s.Member(j); m.Reached && m.ID == s.Member(i).ID {
			return j
		}
	}
	return -1
}

func membershipFault(s Snapshot, i int, m, first Member, cluster ID) string {
	switch {
	case m.Peers == nil:
		return "gave no member list"
	case m.Cluster == 0 || m.Cluster != cluster:
		return fmt.Sprintf("has cluster id %s, others %s", m.Cluster, cluster)
	case s.Baseline.Members[i] != 0 && s.Baseline.Members[i] != m.ID:
		return fmt.Sprintf("is member %s, was %s when the roll began", m.ID, s.Baseline.Members[i])
	}
	voters, self := 0, false
	for _, peer := range m.Peers {
		if peer.Name == "" {
			return fmt.Sprintf("lists member %s that never started", peer.ID)
		}
		if !peer.Learner {
			voters++
		}
		self = self || peer.ID == m.ID
	}
	switch {
	case !self:
		return "is not in its own member list"
	case voters != s.Set.Replicas:
		return fmt.Sprintf("lists %d voters for %d replicas", voters, s.Set.Replicas)
	case !samePeers(m.Peers, first.Peers):
		return "lists other members than the first member does"
	}
	return ""
}

// samePeers compares two views regardless of their order.
func samePeers(a, b []Peer) bool {
	if len(a) != len(b) {
		return false
	}
	seen := map[Peer]bool{}
	for _, p := range a {
		seen[p] = true
	}
	for _, p := range b {
		if !seen[p] {
			return false
		}
	}
	return len(seen) == len(a)
}

// learnersAbsent: nobody is a learner, in anybody's view. A learner has no
// vote and its promotion changes quorum under us.
func learnersAbsent(s Snapshot, p Plan) Finding {
	bad := eachMember(s, p, func(_ int, m Member) string {
		if m.Peers == nil {
			return "gave no member list"
		}
		if m.Learner {
			return "is a learner"
		}
		for _, peer := range m.Peers {
			if peer.Learner {
				return "lists learner " + peer.ID.String()
			}
		}
		return ""
	})
	return gateOver(s, bad, "none", "no learner in any view")
}

// leaderAgreed: all name one leader and one term, and that leader agrees.
func leaderAgreed(s Snapshot, p Plan) Finding {
	leader, term := ID(0), uint64(0)
	bad := eachMember(s, p, func(_ int, m Member) string {
		switch {
		case !m.Reached:
			return "did not say"
		case m.Leader == 0:
			return "sees no leader"
		case leader == 0:
			leader, term = m.Leader, m.Term
		case m.Leader != leader || m.Term != term:
			return fmt.Sprintf("names %s in term %d, others %s in term %d", m.Leader, m.Term, leader, term)
		}
		return ""
	})
	if len(bad) == 0 && s.Probed && s.LeaderIndex() < 0 {
		bad = append(bad, fmt.Sprintf("leader %s is no single pod's member", leader))
	}
	return gateOver(s, bad, fmt.Sprintf("%s in term %d", leader, term), "one leader, one term, by its own word too")
}

// termStable: no election that we did not ask for has just happened.
func termStable(s Snapshot, _ Plan) Finding {
	threshold := "none for " + s.Limits.TermQuiet.String()
	at := s.Baseline.UnplannedAt
	if at.IsZero() {
		return pass("no unexplained election seen", threshold)
	}
	age := max(0, s.Now.Sub(at))
	measured := fmt.Sprintf("unexplained election %s ago", age.Truncate(time.Second))
	if age < s.Limits.TermQuiet {
		return object(measured, threshold)
	}
	return pass(measured, threshold)
}

// quorumAfter: without the victim a quorum of healthy voters is left. Voters
// are counted from the member lists, since one that never started counts
// against quorum all the same.
func quorumAfter(s Snapshot, p Plan) Finding {
	voters, healthy := s.Set.Replicas, 0
	for i := range s.Set.Indexes() {
		m := s.Member(i)
		own := 0
		for _, peer := range m.Peers {
			if !peer.Learner {
				own++
			}
		}
		voters = max(voters, own)
		if i != p.Victim && s.Pod(i).Usable() && m.Reached && m.Read == Yes && !m.Learner {
			healthy++
		}
	}
	quorum := voters/2 + 1
	measured := fmt.Sprintf("%d of %d voters would stay healthy", healthy, voters)
	threshold := fmt.Sprintf("%d", quorum)
	switch {
	case !s.Probed || s.Set.Replicas < 1:
		return object("members were not asked", threshold)
	case healthy >= quorum:
		return pass(measured, threshold)
	case voters <= 2 && s.Limits.AllowDowntime && healthy >= voters-1:
		f := pass(measured, threshold+", or allowDowntime for one or two voters")
		f.Note = "this step interrupts the service (allowDowntime)"
		return f
	}
	return object(measured, threshold)
}
