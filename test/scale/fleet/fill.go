package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Condition is how a set stands when it is made.
type Condition int

const (
	// Converged sets are finished, locked and marked.
	Converged Condition = iota
	// Outdated sets have a new template, and nobody has looked at them.
	Outdated
	// Halted, Paused and Blocked sets have a new template too and stand still.
	Halted
	Paused
	Blocked
)

// Fleet is the sets of one namespace and those who act on them.
type Fleet struct {
	Namespace string
	client    kubernetes.Interface
}

// Open prepares a fleet. Requests are not slowed down on our side.
func Open(config *rest.Config, namespace string) (*Fleet, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.UserAgent = -1, "etcdroll-fleet"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("prepare client: %w", err)
	}
	return &Fleet{Namespace: namespace, client: client}, nil
}

// creators work at the same time; more of them would only wait for each other
// in the API server.
const creators = 24

// Fill makes n sets and their pods. The first error ends it.
func (f *Fleet) Fill(ctx context.Context, n int, condition func(i int) Condition) error {
	return Each(ctx, n, creators, func(ctx context.Context, i int) error {
		return f.make(ctx, Name(i), condition(i))
	})
}

// Each calls do for 0 to n-1, workers at a time, until one fails.
func Each(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := int(next.Add(1) - 1); i < n && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

func (f *Fleet) make(ctx context.Context, name string, condition Condition) error {
	template := asksFor(condition)
	set, err := f.client.AppsV1().StatefulSets(f.Namespace).Create(ctx, manifest(f.Namespace, name, template), metav1.CreateOptions{FieldManager: owner})
	if err != nil {
		return fmt.Errorf("create set: %w", err)
	}
	set.Status = status(set, OldVersion, template)
	if set, err = f.client.AppsV1().StatefulSets(f.Namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{FieldManager: controller}); err != nil {
		return fmt.Errorf("write the set's status: %w", err)
	}
	if err := f.annotate(ctx, set, condition); err != nil {
		return err
	}
	for index := range Replicas {
		if err := f.create(ctx, set, index, OldVersion); err != nil {
			return err
		}
	}
	return nil
}

// asksFor is the version in the template of a set in this condition.
func asksFor(condition Condition) string {
	if condition == Converged {
		return OldVersion
	}
	return NewVersion
}

func status(set *appsv1.StatefulSet, current, update string) appsv1.StatefulSetStatus {
	return appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: Replicas, ReadyReplicas: Replicas, AvailableReplicas: Replicas,
		CurrentRevision: Revision(set.Name, current), UpdateRevision: Revision(set.Name, update),
	}
}

// annotate writes what the function, and for a pause a person, would have
// written on the way to the condition.
func (f *Fleet) annotate(ctx context.Context, set *appsv1.StatefulSet, condition Condition) error {
	target := set.Status.UpdateRevision
	marks := map[string]string{
		events.AnnotationRollout: `{"seq":9,"uid":"` + string(set.UID) + `","target":"` + target + `","moves":1}`,
		events.AnnotationPhase:   events.PhaseConverged, events.AnnotationReason: "Converged",
		events.AnnotationMessage: "every pod is at the target revision, and the set is locked",
	}
	switch condition {
	case Converged:
		marks[events.AnnotationConvergedRevision] = target
	case Outdated:
	case Halted:
		marks[events.AnnotationPhase], marks[events.AnnotationHaltedRevision], marks[events.AnnotationHaltID] = events.PhaseHalted, target, "halt-1"
	case Paused:
		marks[events.AnnotationPhase], marks[events.AnnotationPaused] = events.PhasePaused, "true"
	case Blocked:
		marks[events.AnnotationPhase] = events.PhaseBlocked
	}
	return f.patch(ctx, set.Name, map[string]any{"metadata": map[string]any{"annotations": marks}}, events.FieldManager)
}

func (f *Fleet) patch(ctx context.Context, name string, change any, manager string) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	if _, err = f.client.AppsV1().StatefulSets(f.Namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager}); err != nil {
		return fmt.Errorf("patch set: %w", err)
	}
	return nil
}

func (f *Fleet) create(ctx context.Context, set *appsv1.StatefulSet, index int, version string) error {
	made, err := f.client.CoreV1().Pods(f.Namespace).Create(ctx, pod(set, index, version), metav1.CreateOptions{FieldManager: controller})
	if err != nil {
		return fmt.Errorf("create pod: %w", err)
	}
	made.Status = running()
	if _, err = f.client.CoreV1().Pods(f.Namespace).UpdateStatus(ctx, made, metav1.UpdateOptions{FieldManager: kubelet}); err != nil {
		return fmt.Errorf("write the pod's status: %w", err)
	}
	return nil
}
