package fn

import (
	"context"
	"log/slog"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
)

// Read gives of an observation what objects tell that somebody else has read,
// such as a watch. Pods are by index, nil when missing. Members are not asked,
// and limits are the defaults. It is for showing, not for deciding: a watch
// may be behind.
func Read(set *appsv1.StatefulSet, pods []*corev1.Pod, now time.Time) roll.Observed {
	s := &Sight{Target: events.Target{Namespace: set.Namespace, Name: set.Name}, set: set}
	s.Now, s.Set, s.Limits = now, toSet(set), guard.DefaultLimits()
	quiet := Observer{Log: slog.New(slog.DiscardHandler)}
	quiet.readAnnotations(s)
	s.Pods = make([]guard.Pod, len(pods))
	for i, pod := range pods {
		s.Pods[i] = toPod(pod, set.UID)
	}
	return s.Observed
}

// Measure observes all there is to observe, whether or not a decision wants
// it, and decides from that. It writes nothing, and the caller must not act on
// it: what was read for no need may be old by then.
func (o *Observer) Measure(ctx context.Context, target events.Target) (*Sight, roll.Decision, error) {
	s, err := o.look(ctx, target, roll.Ask{Kind: roll.Look})
	if err != nil {
		return nil, roll.Decision{}, err
	}
	if !s.Set.Managed || s.Set.Deleting {
		return s, roll.Next(s.Observed), nil
	}
	if err := o.askMembers(ctx, s); err != nil {
		return nil, roll.Decision{}, err
	}
	if err := o.askRights(ctx, s); err != nil {
		return nil, roll.Decision{}, err
	}
	return s, roll.Next(s.Observed), nil
}

// Asking is how the members were asked, to ask the same ones again; nothing
// when they could not be.
func (s *Sight) Asking() ([]etcdprobe.Endpoint, etcdprobe.Credentials) {
	if s.members == nil {
		return nil, etcdprobe.Credentials{}
	}
	return s.endpoints, s.who
}
