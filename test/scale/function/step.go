package function

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/scale/fleet"
)

// answer is an event that goes on after a while, or a bare status.
type answer struct {
	goesOn bool
	seq    int64
	after  time.Duration
	status int
}

var (
	nothing = answer{status: http.StatusOK}
	waiting = answer{status: http.StatusAccepted}
)

// Away is how long the function waits before it looks again whether a released
// pod is back.
const Away = time.Second

// soon is how long a new pod is given at first, and the controller to notice.
const soon = 100 * time.Millisecond

// record is what the trigger reads of the real record.
type record struct {
	Seq    int64  `json:"seq"`
	UID    string `json:"uid"`
	Target string `json:"target"`
	Step   *step  `json:"step,omitempty"`
	Moves  int    `json:"moves"`
}

type step struct {
	Kind  string `json:"kind"`
	Index int    `json:"index"`
}

// step looks at the set and takes the one step that is due.
func (s *Function) step(ctx context.Context, ask events.Request) (answer, error) {
	set, err := s.fleet.Set(ctx, ask.Target.Name)
	if err != nil {
		return answer{}, err
	}
	var r record
	if err := json.Unmarshal([]byte(set.Annotations[events.AnnotationRollout]), &r); err != nil {
		return answer{}, fmt.Errorf("read record: %w", err)
	}
	switch {
	case ask.Kind == events.KindContinue && ask.Seq != r.Seq: // another chain was faster
		return nothing, nil
	case set.Annotations[events.AnnotationHaltedRevision] != "", events.IsPaused(set.Annotations):
		return nothing, nil
	case set.Annotations[events.AnnotationPhase] == events.PhaseBlocked:
		return waiting, nil
	case set.Generation != set.Status.ObservedGeneration:
		return answer{goesOn: ask.Kind == events.KindContinue, seq: r.Seq, after: soon, status: waiting.status}, nil
	}
	pods, err := s.fleet.Revisions(ctx, set.Name)
	if err != nil {
		return answer{}, err
	}
	a, err := s.take(ctx, set, r, pods, ask)
	if apierrors.IsConflict(err) {
		return waiting, nil
	}
	return a, err
}

func (s *Function) take(ctx context.Context, set *appsv1.StatefulSet, r record, pods [fleet.Replicas]string, ask events.Request) (answer, error) {
	target := set.Status.UpdateRevision
	partition := int(*set.Spec.UpdateStrategy.RollingUpdate.Partition)
	next := r
	next.Seq, next.UID, next.Target, next.Step = r.Seq+1, string(set.UID), target, nil
	victim := highest(pods, target)
	if victim >= 0 || partition < fleet.Replicas {
		s.inHand(set.Name, true)
	}
	switch {
	case partition < fleet.Replicas && pods[partition] != target: // the released pod is away
		return answer{goesOn: ask.Kind == events.KindContinue, seq: r.Seq, after: Away, status: waiting.status}, nil
	case partition < fleet.Replicas:
		return s.write(ctx, set, next, fleet.Replicas, events.PhaseRolling, nil)
	case victim >= 0:
		next.Step = &step{Kind: "release", Index: victim}
		a, err := s.write(ctx, set, next, victim, events.PhaseRolling, nil)
		if err == nil {
			s.work.Go(func() { s.replace(set.Name, victim) })
			a.after = soon
		}
		return a, err
	case set.Annotations[events.AnnotationConvergedRevision] != target:
		// Before the write: who sees it may begin with the next set at once.
		s.inHand(set.Name, false)
		return s.write(ctx, set, next, fleet.Replicas, events.PhaseConverged, map[string]any{events.AnnotationConvergedRevision: target})
	case s.fleet.Claimed(set):
		return s.handBack(ctx, set)
	}
	return nothing, nil
}

// highest is the highest index whose pod is not at the target, or -1.
func highest(pods [fleet.Replicas]string, target string) int {
	for index := len(pods) - 1; index >= 0; index-- {
		if pods[index] != target {
			return index
		}
	}
	return -1
}

func (s *Function) write(ctx context.Context, set *appsv1.StatefulSet, r record, partition int, phase string, more map[string]any) (answer, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	marks := map[string]any{events.AnnotationRollout: string(text), events.AnnotationPhase: phase, events.AnnotationReason: phase}
	for key, value := range more {
		marks[key] = value
	}
	if err := s.fleet.Write(ctx, set, partition, marks); err != nil {
		return answer{}, err
	}
	if err := s.fleet.Observe(ctx, set.Name, nil); err != nil {
		return answer{}, err
	}
	return answer{goesOn: true, seq: r.Seq}, nil
}

func (s *Function) replace(set string, index int) {
	s.unheld(s.under)
	if err := s.fleet.Replace(s.under, set, index); err != nil {
		s.fault(err)
	}
}
