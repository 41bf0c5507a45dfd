package look

import (
	"time"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Member is one member and its pod.
type Member struct {
	Pod      string `json:"pod"`
	Revision string `json:"revision"` // old, new, or - without a pod
	Hash     string `json:"revisionName,omitempty"`
	Ready    string `json:"ready"` // yes, no, ending, missing
	// Role is leader, follower, learner, silent (asked and did not answer) or ?
	// (not asked).
	Role    string   `json:"role"`
	Lag     *uint64  `json:"lag,omitempty"` // raft entries behind the leader's commit index
	Version string   `json:"version,omitempty"`
	ID      string   `json:"memberID,omitempty"`
	Node    string   `json:"node,omitempty"`
	Age     *float64 `json:"ageSeconds,omitempty"`
	Detail  string   `json:"detail,omitempty"`
}

func members(o roll.Observed) []Member {
	leader := o.LeaderIndex()
	list := make([]Member, 0, o.Set.Replicas)
	for i := range o.Set.Replicas {
		m := member(o, i)
		if o.Probed && m.Ready != "missing" {
			m.asked(o.Snapshot, i, leader)
		}
		list = append(list, m)
	}
	return list
}

func member(o roll.Observed, i int) Member {
	pod := o.Pod(i)
	m := Member{Pod: o.Set.PodName(i), Revision: "-", Ready: "missing", Role: "?", Node: pod.Node, Detail: pod.Detail}
	if !pod.Exists {
		return m
	}
	m.Hash, m.Revision, m.Ready = pod.Revision, "old", "no"
	if pod.Revision == o.Set.UpdateRevision {
		m.Revision = "new"
		if o.Set.CurrentRevision == o.Set.UpdateRevision {
			m.Revision = "current"
		}
	}
	switch {
	case pod.Terminating:
		m.Ready = "ending"
	case pod.Ready:
		m.Ready = "yes"
	}
	age := max(0, o.Now.Sub(pod.Created).Round(time.Second).Seconds())
	m.Age = &age
	return m
}

// asked adds what the member said of itself.
func (m *Member) asked(s guard.Snapshot, i, leader int) {
	answer := s.Member(i)
	if !answer.Reached {
		m.Role = "silent"
		if m.Detail == "" {
			m.Detail = answer.Detail
		}
		return
	}
	m.Role, m.Version, m.ID = "follower", answer.Version, answer.ID.String()
	switch {
	case i == leader:
		m.Role = "leader"
	case answer.Learner:
		m.Role = "learner"
	}
	if s.Commit > 0 && answer.Last.Applied > 0 {
		lag := guard.Lag(s, answer)
		m.Lag = &lag
	}
}
