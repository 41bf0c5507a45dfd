package observer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Set is the set as last seen.
func (o *Observer) Set() SetState {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sets[len(o.sets)-1]
}

// Pod is the pod of this index as last seen; the zero PodState if never.
func (o *Observer) Pod(index int) PodState {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pod(index)
}

func (o *Observer) pod(index int) PodState {
	for i := len(o.pods) - 1; i >= 0; i-- {
		if o.pods[i].Index == index {
			return o.pods[i]
		}
	}
	return PodState{Index: index}
}

// Member is the latest answer of the member, and whether its latest sample was
// an answer.
func (o *Observer) Member(index int) (last Sample, answers bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	latest := true
	for i := len(o.samples) - 1; i >= 0; i-- {
		s := o.samples[i]
		switch {
		case s.Index != index:
		case s.Answered():
			return s, latest
		default:
			latest = false
		}
	}
	return Sample{Index: index}, false
}

// Announce says that somebody else than the product is about to move leadership
// from the one member to the other.
func (o *Observer) Announce(from, to uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// Numbers of the product's own announcements are positive.
	o.announced = append(o.announced, Announcement{At: time.Now(), Seq: -1 - int64(len(o.announced)), From: from, To: to})
}

// View is everything as last seen.
type View struct {
	Set  SetState
	Pods []PodState // by index
}

// View is everything as last seen.
func (o *Observer) View() View {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.view()
}

func (o *Observer) view() View {
	v := View{Set: o.sets[len(o.sets)-1]}
	for i := range v.Set.Replicas {
		v.Pods = append(v.Pods, o.pod(i))
	}
	return v
}

// Until waits until the view is as wanted. The error says what was seen last.
func (o *Observer) Until(ctx context.Context, within time.Duration, what string, wanted func(View) bool) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		o.mu.Lock()
		v, broken, changed := o.view(), o.broken, o.changed
		o.mu.Unlock()
		switch {
		case broken != nil:
			return broken
		case wanted(v):
			return nil
		}
		select {
		case <-changed:
		case <-deadline.C:
			return fmt.Errorf("%s: not within %s; last seen: %s", what, within, v)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; last seen: %s", what, context.Cause(ctx), v)
		}
	}
}

// UntilSeen waits until the set has been, however shortly, as wanted. It looks
// at every state that is seen from now on, and at the present one.
func (o *Observer) UntilSeen(ctx context.Context, within time.Duration, what string, wanted func(SetState) bool) error {
	next := -1
	return o.Until(ctx, within, what, func(View) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		if next < 0 {
			next = len(o.sets) - 1
		}
		for ; next < len(o.sets); next++ {
			if wanted(o.sets[next]) {
				return true
			}
		}
		return false
	})
}

// AllUp says that every pod exists and is Ready.
func (v View) AllUp() bool {
	for _, p := range v.Pods {
		if !p.Up() {
			return false
		}
	}
	return v.Set.Observed == v.Set.Generation
}

// AllOnTarget says that every pod exists, stays, and runs the target.
func (v View) AllOnTarget() bool {
	for _, p := range v.Pods {
		if p.UID == "" || p.Gone || p.Terminating || p.Revision != v.Set.Update {
			return false
		}
	}
	return v.Set.Observed == v.Set.Generation
}

// Settled says that the product has finished: converged, marked, locked, and
// without a claim on partition.
func (v View) Settled() bool {
	for _, m := range v.Set.Managers {
		if m == events.FieldManager {
			return false
		}
	}
	promoted := v.Set.OnDelete || v.Set.Current == v.Set.Update // an OnDelete set never is
	return v.AllOnTarget() && v.AllUp() && v.Set.Marked() && v.Set.Locked() && promoted
}

// String is for messages of failed tests.
func (v View) String() string {
	var b strings.Builder
	s := v.Set
	fmt.Fprintf(&b, "partition %d/%d, generation %d (observed %d), target %s, current %s, phase %q, reason %q, message %q, claimed by %v", s.Partition, s.Replicas,
		s.Generation, s.Observed, s.Update, s.Current, s.Annotations[events.AnnotationPhase],
		s.Annotations[events.AnnotationReason], s.Annotations[events.AnnotationMessage], s.Managers)
	for _, p := range v.Pods {
		fmt.Fprintf(&b, "; pod %d %s ready=%v terminating=%v gone=%v restarts=%d", p.Index, p.Revision, p.Ready, p.Terminating, p.Gone, p.Restarts)
	}
	return b.String()
}
