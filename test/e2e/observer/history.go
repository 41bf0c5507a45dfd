package observer

import "slices"

// History is everything that was seen, for judges of their own.
type History struct {
	Sets    []SetState
	Pods    []PodState
	Samples []Sample // by time
}

// History is what was seen so far, from the start of watching.
func (o *Observer) History() History {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := History{Sets: slices.Clone(o.sets), Pods: slices.Clone(o.pods), Samples: slices.Clone(o.samples)}
	slices.SortStableFunc(h.Samples, func(a, b Sample) int { return a.At.Compare(b.At) })
	return h
}
