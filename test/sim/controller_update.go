package sim

import "github.com/etcdroll/etcdroll/pkg/guard"

// update replaces outdated pods, by one of three algorithms: which one depends
// on the version of Kubernetes and the pod management policy.
func (w *world) update(s *set, pods *[mostMembers]pod, plan *syncPlan) {
	switch {
	case !w.budgeted:
		w.updateSerially(s, pods, plan)
	case w.management == guard.Parallel:
		w.updateParallel(s, pods, plan)
	default:
		w.updateOrdered(s, pods, plan)
	}
}

// take plans a deletion for an update.
func (p *syncPlan) take(i int, s *set) {
	p.deletes[i] = deletion{true, s.episode}
	p.status.olden--
}

// updateSerially is the controller without MaxUnavailableStatefulSet.
func (w *world) updateSerially(s *set, pods *[mostMembers]pod, plan *syncPlan) {
	for i := s.replicas - 1; i >= s.partition; i-- {
		p := &pods[i]
		if p.exists && p.revision != s.template && !p.terminating {
			plan.take(i, s)
			return
		}
		if !w.available(p) {
			return
		}
	}
}

func (w *world) updateOrdered(s *set, pods *[mostMembers]pod, plan *syncPlan) {
	for i := range s.replicas {
		if !w.available(&pods[i]) {
			return
		}
	}
	for i := s.replicas - 1; i >= s.partition; i-- {
		if pods[i].revision != s.template {
			plan.take(i, s)
			return
		}
	}
}

// updateParallel takes pods that are down on an old revision first, all of
// them, and then what the budget of one leaves.
func (w *world) updateParallel(s *set, pods *[mostMembers]pod, plan *syncPlan) {
	down, downOld := 0, 0
	for i := range s.replicas {
		if p := &pods[i]; !w.available(p) {
			down++
			revision := p.revision
			if !p.exists {
				revision = plan.creates[i]
			}
			if revision != s.template && !p.terminating {
				downOld++
			}
		}
	}
	if down >= s.maxUnavailable && downOld == 0 {
		return
	}
	for i := s.replicas - 1; i >= s.partition; i-- {
		if p := &pods[i]; p.exists && p.revision != s.template && !w.available(p) && !p.terminating {
			plan.take(i, s)
		}
	}
	budget := s.maxUnavailable - down
	for i := s.replicas - 1; i >= s.partition && budget > 0; i-- {
		if p := &pods[i]; p.revision != s.template && w.available(p) {
			plan.take(i, s)
			budget--
		}
	}
}
