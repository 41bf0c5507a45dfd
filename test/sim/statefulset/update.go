package statefulset

// update replaces outdated pods, by one of three algorithms: which one depends
// on the version of Kubernetes and the pod management policy.
func (p *Plan) update(in *Input) {
	if !in.Budgeted {
		p.updateSerially(in)
		return
	}
	down, downOld := p.down(in)
	switch {
	case down >= in.MaxUnavailable && downOld == 0:
	case in.Parallel:
		p.updateParallel(in, in.MaxUnavailable-down)
	default:
		p.updateOrdered(in, in.MaxUnavailable-down)
	}
}

// take plans a deletion for an update. The controller counts it off
// currentReplicas whatever the pod's revision was.
func (p *Plan) take(i int) {
	p.Deletes[i] |= IsOutdated
	p.Status.CurrentReplicas--
}

// updateSerially is the controller without MaxUnavailableStatefulSet: the
// highest outdated pod, if all above it are available.
func (p *Plan) updateSerially(in *Input) {
	for i := in.Replicas - 1; i >= in.Partition; i-- {
		pod := &in.Pods[i]
		if pod.outdated(in) && !pod.Terminating {
			p.take(i)
			return
		}
		if in.unavailable(i) {
			return
		}
	}
}

// down counts unavailable pods on all indexes, and under Parallel those of
// them that an update would mend.
func (p *Plan) down(in *Input) (down, downOld int) {
	for i := range in.Replicas {
		if !in.unavailable(i) {
			continue
		}
		down++
		pod := &in.Pods[i]
		bornOld := pod.Phase == Missing && p.Creates[i] != in.Template
		if in.Parallel && !pod.Terminating && (pod.outdated(in) || bornOld) {
			downOld++
		}
	}
	return down, downOld
}

// updateOrdered spends the budget from the highest index down.
func (p *Plan) updateOrdered(in *Input, budget int) {
	for i := in.Replicas - 1; i >= in.Partition && budget > 0; i-- {
		if pod := &in.Pods[i]; pod.outdated(in) && !pod.Terminating {
			p.take(i)
			budget--
		}
	}
}

// updateParallel takes pods that are down on an old revision first, all of
// them, and then what is left of the budget.
func (p *Plan) updateParallel(in *Input, budget int) {
	for i := in.Replicas - 1; i >= in.Partition; i-- {
		if pod := &in.Pods[i]; pod.outdated(in) && !in.available(i) && !pod.Terminating {
			p.take(i)
		}
	}
	for i := in.Replicas - 1; i >= in.Partition && budget > 0; i-- {
		if in.Pods[i].outdated(in) && !in.unavailable(i) {
			p.take(i)
			budget--
		}
	}
}
