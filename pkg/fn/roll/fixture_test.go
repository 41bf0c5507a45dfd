package roll

import (
	"strconv"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// The fixtures build a healthy, locked cluster of n members that has run the
// old revision for an hour; tests then change what they are about.

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	oldRev = "etcd-old"
	newRev = "etcd-new"
)

func member(i, n, leader int) guard.Member {
	m := guard.Member{
		Reached: true, ID: guard.ID(100 + i), Cluster: 7, Leader: guard.ID(100 + leader), Term: 5,
		Version: "3.6.16", Read: guard.Yes, ReadTook: time.Millisecond,
		First: guard.Sample{Applied: 1000, Revision: 900}, Last: guard.Sample{Applied: 1000, Revision: 900},
		DBSize: 1 << 20, Quota: 2 << 30,
	}
	for j := range n {
		m.Peers = append(m.Peers, guard.Peer{ID: guard.ID(100 + j), Name: "etcd-" + strconv.Itoa(j)})
	}
	return m
}

func pod(i int, revision string) guard.Pod {
	return guard.Pod{
		Exists: true, Owned: true, UID: "pod-" + strconv.Itoa(i), Revision: revision, Ready: true,
		ReadyChanged: noon.Add(-time.Hour), Started: noon.Add(-time.Hour), Created: noon.Add(-time.Hour), Node: "node-a",
	}
}

// healthy is a set whose template has just changed: all pods are outdated.
func healthy(n, leader int) Observed {
	o := Observed{
		Snapshot: guard.Snapshot{
			Now: noon, Probed: true, Commit: 1000, AlarmsRead: guard.Yes, Auth: guard.No,
			Budget:   guard.Budget{Read: guard.Yes},
			Template: guard.Template{Data: guard.Persistent, Grace: 30 * time.Second, Version: "3.6.16"},
			Limits:   guard.DefaultLimits(),
			Set: guard.Set{
				Namespace: "db", Name: "etcd", UID: "set-1", Managed: true, Generation: 4, ObservedGeneration: 4,
				Strategy: guard.RollingUpdate, Management: guard.OrderedReady, MaxUnavailable: 1,
				Replicas: n, StatusReplicas: n, Partition: n, CurrentRevision: oldRev, UpdateRevision: newRev,
			},
		},
		MayDelete: guard.Yes,
	}
	for i := range n {
		o.Pods = append(o.Pods, pod(i, oldRev))
		o.Members = append(o.Members, member(i, n, leader))
	}
	return o
}

// with applies changes to a copy of nothing: observations are built fresh for
// every test.
func with(o Observed, changes ...func(*Observed)) Observed {
	for _, c := range changes {
		c(&o)
	}
	return o
}

// lead makes member i lead in every view.
func lead(i int, term uint64) func(*Observed) {
	return func(o *Observed) {
		for j := range o.Members {
			o.Members[j].Leader, o.Members[j].Term = guard.ID(100+i), term
		}
	}
}

// updated puts pods on the target as new objects that have soaked.
func updated(indexes ...int) func(*Observed) {
	return func(o *Observed) {
		for _, i := range indexes {
			o.Pods[i].Revision, o.Pods[i].UID = newRev, "new-"+strconv.Itoa(i)
		}
	}
}

// written continues from the state a decision's write leaves behind.
func written(d Decision) func(*Observed) {
	return func(o *Observed) {
		if d.Write == nil {
			return
		}
		o.Record, o.Status = d.Write.Record, d.Write.Status
		if d.Write.SetPartition && d.Write.Partition != o.Set.Partition {
			o.Set.Partition = d.Write.Partition
			o.Set.Generation++
			o.Set.ObservedGeneration++
			o.ClaimsPartition = true
		}
		if d.Write.HandBack {
			o.ClaimsPartition = false
		}
		if d.Write.ClearResume {
			o.ResumeToken = ""
		}
	}
}

// later lets time pass.
func later(t time.Duration) func(*Observed) { return func(o *Observed) { o.Now = o.Now.Add(t) } }

// down makes pod i not Ready and its member silent.
func down(i int) func(*Observed) {
	return func(o *Observed) {
		o.Pods[i].Ready, o.Pods[i].ReadyChanged = false, o.Now
		o.Members[i] = guard.Member{}
	}
}

// forming is a new set whose members exit and are started again.
func forming(age time.Duration) Observed {
	o := with(healthy(3, 0), updated(0, 1, 2), down(0), down(1), down(2))
	o.Set.CurrentRevision = newRev
	for i := range o.Pods {
		o.Pods[i].Trouble, o.Pods[i].Created = guard.CrashLoop, o.Now.Add(-age)
	}
	return o
}

// converged is an idle set that is marked.
func converged(n int) Observed {
	o := with(healthy(n, 0), func(o *Observed) { o.Set.CurrentRevision = newRev })
	for i := range n {
		updated(i)(&o)
	}
	written(Next(o))(&o)
	return o
}
