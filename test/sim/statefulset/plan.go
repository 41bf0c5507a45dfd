package statefulset

// Why says on what account a pod is deleted. A pod may be on both at once: the
// controller then asks for its deletion twice.
type Why uint8

const (
	IsFinished Why = 1 << iota // it is Failed or Succeeded
	IsOutdated                 // it gives way to the update revision
)

// Plan is what one sync does.
type Plan struct {
	Creates [MostPods]Revision // Unset where no pod is created
	Deletes [MostPods]Why      // 0 where none is deleted
	Status  Status
}

// Status are the fields of status that the controller computes.
type Status struct {
	ObservedGeneration              int64
	CurrentRevision, UpdateRevision Revision

	Replicas, ReadyReplicas, AvailableReplicas, CurrentReplicas, UpdatedReplicas int
}

// Differs says that the controller writes this status, old being the one the
// set has. Having observed an older generation alone is no reason to.
func (s Status) Differs(old Status) bool {
	s.ObservedGeneration = max(s.ObservedGeneration, old.ObservedGeneration)
	return s != old
}

// Decide makes one sync's plan.
func Decide(in *Input) Plan {
	p := Plan{Status: in.count()}
	for i := range p.Creates {
		p.Creates[i] = Unset
	}
	if !in.Deleting && p.replenish(in) && !in.OnDelete {
		p.update(in)
	}
	p.Status.complete(in.Replicas)
	return p
}

// count is the status before anything is done. A pod that is created in this
// sync does not count in it; one that is deleted still does.
func (in *Input) count() Status {
	s := Status{ObservedGeneration: in.Generation, CurrentRevision: in.current(), UpdateRevision: in.Template}
	for i := range in.Replicas {
		p := &in.Pods[i]
		if p.Phase == Missing {
			continue
		}
		s.Replicas++
		if p.runningAndReady() {
			s.ReadyReplicas++
			if in.available(i) {
				s.AvailableReplicas++
			}
		}
		if !p.Terminating && p.Revision == s.CurrentRevision {
			s.CurrentReplicas++
		}
		if !p.Terminating && p.Revision == s.UpdateRevision {
			s.UpdatedReplicas++
		}
	}
	return s
}

// complete promotes the update revision once all pods are on it and Ready,
// whatever the partition, the strategy and minReadySeconds.
func (s *Status) complete(replicas int) {
	if s.UpdatedReplicas == replicas && s.ReadyReplicas == replicas && s.Replicas == replicas {
		s.CurrentRevision, s.CurrentReplicas = s.UpdateRevision, s.UpdatedReplicas
	}
}

// replenish creates what is missing. It reports whether updates may follow.
func (p *Plan) replenish(in *Input) bool {
	for i := range in.Replicas {
		pod, settled := &in.Pods[i], false
		switch {
		case pod.Phase == Finished:
			if !pod.Terminating {
				p.Deletes[i] |= IsFinished
			}
		case pod.Phase == Missing:
			p.Creates[i] = in.born(i)
		default:
			settled = pod.runningAndReady() && !in.unavailable(i)
		}
		if !settled && !in.Parallel {
			return false
		}
	}
	return true
}

// born is the revision that pod i is created from.
func (in *Input) born(i int) Revision {
	if !in.OnDelete && i < in.Partition {
		return in.current()
	}
	return in.Template
}
