package fn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
)

// Observer reads the world: the set, its pods by name, the objects that the
// configuration names, and, when a decision wants them, the members.
type Observer struct {
	API     API
	Members func(guard.Limits) Members
	Clock   Clock
	Log     *slog.Logger
}

// Sight is one observation, with what acting on it needs besides what decides.
type Sight struct {
	roll.Observed
	Target   events.Target
	Settings Settings

	set       *appsv1.StatefulSet // nil when it does not exist
	pods      []*corev1.Pod       // by index; nil when missing
	endpoints []etcdprobe.Endpoint
	who       etcdprobe.Credentials
	members   Members
	usable    bool      // the settings can be relied on to reach the members
	seen      time.Time // local time at which Now was true
}

// Decide observes and decides, reading no more than the decision wants: an
// idle or halted set costs no connection to a member and no Secret.
func (o *Observer) Decide(ctx context.Context, target events.Target, ask roll.Ask) (*Sight, roll.Decision, error) {
	s, err := o.look(ctx, target, ask)
	if err != nil {
		return nil, roll.Decision{}, err
	}
	d := roll.Next(s.Observed)
	for range 2 { // the two things a decision can want
		switch {
		case d.Wants.Members && !s.Probed:
			err = o.askMembers(ctx, s)
		case d.Wants.MayDelete && s.MayDelete == guard.Unknown:
			err = o.askRights(ctx, s)
		default:
			return s, d, nil
		}
		if err != nil {
			return nil, roll.Decision{}, err
		}
		d = roll.Next(s.Observed)
	}
	return s, d, nil
}

// look reads the set and, if it is ours, its pods and its configuration.
func (o *Observer) look(ctx context.Context, target events.Target, ask roll.Ask) (*Sight, error) {
	s := &Sight{Target: target}
	s.Ask = ask
	set, now, err := o.API.Set(ctx, target.Namespace, target.Name)
	s.seen = o.Clock()
	s.Now, s.Into = now, s.seen.Sub(s.seen.Truncate(time.Second))
	if now.IsZero() {
		s.Now, s.Into = s.seen, 0
	}
	if apierrors.IsNotFound(err) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get statefulset %s: %w", target, err)
	}
	s.set, s.Set = set, toSet(set)
	if !s.Set.Managed || s.Set.Deleting {
		return s, nil
	}
	o.readAnnotations(s)
	return s, o.readNamed(ctx, s)
}

// readAnnotations takes everything that the set itself says.
func (o *Observer) readAnnotations(s *Sight) {
	notes := s.set.Annotations
	s.Status = toStatus(notes)
	var err error
	if s.Record, err = parseRecord(notes[events.AnnotationRollout]); err != nil {
		o.Log.Warn("the rollout record is unreadable and counts as none", "set", s.Target.String(), "error", oneLine(err.Error(), 300))
	}
	s.Paused = events.IsPaused(notes)
	s.Release, s.ResumeToken = notes[events.AnnotationRelease], notes[events.AnnotationResume]
	s.ClaimsPartition, s.OtherManagers = partitionOwners(s.set.ManagedFields)
	s.Template = toTemplate(s.set)
	var problem *roll.ConfigProblem
	s.Overrides, problem = toOverrides(notes[events.AnnotationOverride])
	s.Config = firstProblem(problem, releaseProblem(s.Release))
}

// readNamed reads the pods and the ConfigMap, all at once.
func (o *Observer) readNamed(ctx context.Context, s *Sight) error {
	// One more than can be driven would be one too many to ask for.
	count := max(0, min(s.Set.Replicas, guard.MaxReplicas))
	s.pods, s.Pods = make([]*corev1.Pod, count), make([]guard.Pod, count)
	failures := make([]error, count+1)
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() { s.pods[i], failures[i] = o.pod(ctx, s.Set, i) })
	}
	all.Go(func() { failures[count] = o.configure(ctx, s) })
	all.Wait()
	for i, pod := range s.pods {
		s.Pods[i] = toPod(pod, s.set.UID)
	}
	return errors.Join(failures...)
}

func (o *Observer) pod(ctx context.Context, set guard.Set, i int) (*corev1.Pod, error) {
	pod, err := o.API.Pod(ctx, set.Namespace, set.PodName(i))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get pod %s/%s: %w", set.Namespace, set.PodName(i), err)
	}
	return pod, nil
}

// configure reads the ConfigMap named on the set, if there is one, and works
// out the settings.
func (o *Observer) configure(ctx context.Context, s *Sight) error {
	text, problem, err := o.configText(ctx, s.set)
	if err != nil {
		return err
	}
	settings := newSettings()
	if problem == nil {
		settings, problem = Configure(s.set, text)
	}
	s.Settings, s.Limits, s.usable = settings, settings.Limits, problem == nil
	s.Config = firstProblem(problem, s.Config)
	return nil
}

func (o *Observer) configText(ctx context.Context, set *appsv1.StatefulSet) (string, *roll.ConfigProblem, error) {
	name, named := set.Annotations[events.AnnotationConfig]
	if !named {
		return "", nil, nil
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", invalid("annotation %s: %s is no name of a ConfigMap: correct or remove it", events.AnnotationConfig, quoted(name)), nil
	}
	m, err := o.API.ConfigMap(ctx, set.Namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return "", invalid("ConfigMap %s (annotation %s) does not exist in namespace %s: create it, or remove the annotation", name, events.AnnotationConfig, set.Namespace), nil
	case apierrors.IsForbidden(err):
		return "", invalid("no right to get ConfigMap %s in namespace %s: name it in the function's Role", name, set.Namespace), nil
	case err != nil:
		return "", nil, fmt.Errorf("get configmap %s/%s: %w", set.Namespace, name, err)
	}
	text, has := m.Data[ConfigKey]
	if !has {
		return "", invalid("ConfigMap %s in namespace %s has no key %s: add it", name, set.Namespace, ConfigKey), nil
	}
	return text, nil, nil
}

// askRights asks whether we may delete pods. The right is in a Role of its
// own, which an operator may leave out.
func (o *Observer) askRights(ctx context.Context, s *Sight) error {
	may, err := o.API.MayDeletePods(ctx, s.Target.Namespace)
	switch {
	case apierrors.IsForbidden(err):
		may = false
	case err != nil:
		return fmt.Errorf("ask for the right to delete pods in %s: %w", s.Target.Namespace, err)
	}
	s.MayDelete = guard.No
	if may {
		s.MayDelete = guard.Yes
	}
	return nil
}

// advance brings Now up to the present: what is announced from here on must
// not look older than it is.
func (s *Sight) advance(local time.Time) {
	s.Now, s.seen = s.Now.Add(max(0, local.Sub(s.seen))), local
}

// clockGrain is how far two readings of the API server's clock may be apart
// for its resolution of a second alone.
const clockGrain = time.Second

// callsEnd is the local time after which no announced call may be made. Once
// the call window has passed since the announcement, others take the call as
// never made and plan afresh; one that came later would take a second member
// down beside theirs.
func (s *Sight) callsEnd() time.Time {
	return s.seen.Add(s.Limits.CallWindow - clockGrain)
}
