package fn

import (
	"context"
	"fmt"

	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
)

// Probe, MoveLeader and Leads make the world an etcd cluster.
func (w *world) Probe(_ context.Context, endpoints []etcdprobe.Endpoint, _ etcdprobe.Credentials) etcdprobe.Reading {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.probes++
	r := etcdprobe.Reading{Members: make([]guard.Member, len(endpoints)), Commit: w.commit, AlarmsRead: guard.Yes, Auth: guard.No}
	for i, e := range endpoints {
		if m := w.members[i]; m != nil && !e.Absent {
			r.Members[i] = *m
			if m.Reached {
				r.Members[i].Leader = memberID(w.leader)
			}
		}
	}
	return r
}

func (w *world) MoveLeader(_ context.Context, leader etcdprobe.Endpoint, _ etcdprobe.Credentials, to guard.ID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, fmt.Sprintf("move leader at %s", leader.Expect))
	w.moves = append(w.moves, to)
	if w.moveErr != nil {
		return w.moveErr
	}
	w.leader = int(to - memberID(0))
	for _, m := range w.members {
		m.Term++
	}
	return nil
}

func (w *world) Leads(_ context.Context, e etcdprobe.Endpoint, _ etcdprobe.Credentials) guard.Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, "leads "+e.Expect)
	if a, has := w.leads[e.Index]; has {
		return a
	}
	if e.Index == w.leader {
		return guard.Yes
	}
	return guard.No
}
