package differential

import "github.com/etcdroll/etcdroll/test/sim/statefulset"

// simpler are the ways to make a state simpler.
var simpler = []func(*single){
	func(s *single) { s.in.Replicas--; s.in.Pods[max(0, s.in.Replicas)] = statefulset.Pod{} },
	func(s *single) { s.in.Partition-- },
	func(s *single) { s.in.Partition = 0 },
	func(s *single) { s.in.MinReady = 0 },
	func(s *single) { s.in.MaxUnavailable = 1 },
	func(s *single) { s.in.Parallel = false },
	func(s *single) { s.in.OnDelete = false },
	func(s *single) { s.in.Deleting = false },
	func(s *single) { s.succeeded = [statefulset.MostPods]bool{} },
	func(s *single) { s.history = [templates]int{1, 2, 3, 4}; s.forgotten = false },
	func(s *single) {
		s.old = statefulset.Status{CurrentRevision: s.in.Current, UpdateRevision: statefulset.Unset}
	},
}

// plainer makes pod i simpler in one respect.
var plainer = []func(*statefulset.Pod, *single){
	func(p *statefulset.Pod, s *single) {
		*p = statefulset.Pod{Phase: statefulset.Running, Ready: true, ReadyFor: s.in.MinReady, Revision: s.in.Template}
	},
	func(p *statefulset.Pod, _ *single) { p.Terminating = false },
	func(p *statefulset.Pod, _ *single) { p.Phase = statefulset.Running },
	func(p *statefulset.Pod, _ *single) { p.Ready = true },
	func(p *statefulset.Pod, s *single) { p.Revision = s.in.Template },
}

// shrunk is a state about which the two still disagree, and that no single
// simplification makes simpler without their agreeing.
func (s single) shrunk(model decision) single {
	for {
		next, found := s.simplified(model)
		if !found {
			return s
		}
		s = next
	}
}

func (s single) simplified(model decision) (single, bool) {
	for _, simplify := range simpler {
		next := s
		simplify(&next)
		if s.givesWayTo(next, model) {
			return next, true
		}
	}
	for i := range s.in.Replicas {
		for _, simplify := range plainer {
			next := s
			simplify(&next.in.Pods[i], &next)
			if s.givesWayTo(next, model) {
				return next, true
			}
		}
	}
	return s, false
}

func (s single) givesWayTo(next single, model decision) bool {
	return next != s && next.in.Replicas > 0 && next.in.Partition >= 0 && next.disagreement(model) != ""
}
