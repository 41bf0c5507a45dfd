package differential

import (
	"time"

	apps "k8s.io/api/apps/v1"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// take does one step in both worlds and tells how they differ afterwards.
func (p *pair) take(s step) string {
	switch s.act {
	case syncs, syncsInVain:
		if difference := p.syncBoth(s.act == syncsInVain); difference != "" {
			return difference
		}
	case settles:
		for i := range p.in.Replicas {
			p.settle(i)
		}
	case timePasses:
		p.now = p.now.Add(time.Duration(s.value+1) * time.Second / 2)
	case changeTemplate, changePartition, changeMaxUnavailable, changeStrategy, deleting:
		p.respecify(s)
	default:
		p.befall(s)
	}
	return p.difference()
}

// settle brings a pod one step further.
func (p *pair) settle(i int) {
	pod := p.in.Pods[i]
	switch {
	case pod.Phase == statefulset.Missing:
	case pod.Terminating:
		p.remove(i)
	case pod.Phase == statefulset.Pending:
		p.move(i, statefulset.Running, false)
	case pod.Phase == statefulset.Running:
		p.move(i, statefulset.Running, true)
	}
}

// respecify is a write to the set by somebody else.
func (p *pair) respecify(s step) {
	switch s.act {
	case changeTemplate:
		p.in.Template = s.value % 3
	case changePartition:
		p.in.Partition = s.value % (p.in.Replicas + 3)
	case changeMaxUnavailable:
		p.in.MaxUnavailable = 1 + s.value%2
	case changeStrategy:
		p.in.OnDelete = !p.in.OnDelete
	case deleting:
		p.in.Deleting = true
	}
	p.in.Generation++
	p.changeSet(func(set *apps.StatefulSet) {
		want := newSet(&p.in)
		set.Spec, set.DeletionTimestamp = want.Spec, want.DeletionTimestamp
	})
}

// befall is something that happens to one pod.
func (p *pair) befall(s step) {
	pod := p.in.Pods[s.pod]
	running := pod.Phase == statefulset.Running
	switch {
	case pod.Phase == statefulset.Missing:
	case s.act == starts && pod.Phase == statefulset.Pending, s.act == becomesUnready && running:
		p.move(s.pod, statefulset.Running, false)
	case s.act == becomesReady && running:
		p.move(s.pod, statefulset.Running, true)
	case s.act == finishes && pod.Phase != statefulset.Finished:
		p.move(s.pod, statefulset.Finished, false)
	case s.act == evicted:
		p.evict(s.pod)
	case s.act == goes && pod.Terminating:
		p.remove(s.pod)
	}
}
