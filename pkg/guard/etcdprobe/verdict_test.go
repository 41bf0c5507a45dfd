package etcdprobe

import (
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// judge evaluates the gates over the reading, with a set, pods and template
// that object to nothing.
func judge(r Reading, plan guard.Plan, change ...func(*guard.Snapshot)) guard.Verdict {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := guard.Snapshot{
		Now: now,
		Set: guard.Set{
			Name: "etcd", Namespace: "db", UID: "u", Managed: true, Generation: 3, ObservedGeneration: 3,
			Strategy: guard.RollingUpdate, Management: guard.OrderedReady, MaxUnavailable: 1,
			Replicas: len(r.Members), StatusReplicas: len(r.Members), Partition: len(r.Members),
			CurrentRevision: "etcd-old", UpdateRevision: "etcd-new",
		},
		Probed: true, Members: r.Members, Commit: r.Commit, AlarmsRead: r.AlarmsRead, Alarms: r.Alarms, Auth: r.Auth,
		Template: guard.Template{Data: guard.Persistent, Grace: 30 * time.Second, Version: "3.6.16"},
		Limits:   guard.DefaultLimits(),
	}
	for range r.Members {
		s.Pods = append(s.Pods, guard.Pod{Exists: true, Owned: true, Ready: true, Revision: "etcd-old",
			ReadyChanged: now.Add(-time.Hour), Started: now.Add(-time.Hour)})
	}
	for _, c := range change {
		c(&s)
	}
	return guard.Judge(s, plan)
}

// wantClosed asserts which gates object, and no others.
func wantClosed(t *testing.T, v guard.Verdict, gates ...guard.Gate) {
	t.Helper()
	var closed []guard.Gate
	for _, f := range v.Objections() {
		closed = append(closed, f.Gate)
	}
	if !slices.Equal(closed, gates) {
		for _, f := range v.Objections() {
			t.Logf("%s: %s (wanted %s)", f.Gate, f.Measured, f.Threshold)
		}
		t.Errorf("closed gates are %v, want %v", closed, gates)
	}
}
