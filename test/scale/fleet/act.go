package fleet

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Change gives a set a new template, as its owner, and then has the controller
// notice it. It returns the moment before the owner's request was sent.
func (f *Fleet) Change(ctx context.Context, name, version string) (time.Time, error) {
	began := time.Now()
	template := map[string]any{"spec": podSpec(name, version)}
	if err := f.patch(ctx, name, map[string]any{"spec": map[string]any{"template": template}}, owner); err != nil {
		return began, err
	}
	return began, f.Observe(ctx, name, func(set *appsv1.StatefulSet) {
		set.Status.UpdateRevision = Revision(name, version)
	})
}

// Lift takes away what keeps a set still, as a person would.
func (f *Fleet) Lift(ctx context.Context, name string) error {
	gone := map[string]any{}
	for _, key := range []string{events.AnnotationPaused, events.AnnotationHaltedRevision, events.AnnotationHaltID, events.AnnotationPhase} {
		gone[key] = nil
	}
	return f.patch(ctx, name, map[string]any{"metadata": map[string]any{"annotations": gone}}, owner)
}

// patience: the controllers try again for as long as others write as well.
var patience = wait.Backoff{Steps: 20, Duration: 5 * time.Millisecond, Factor: 1.3, Jitter: 0.5}

// Observe has the controller notice what is new in a set, and say so in its
// status; change, if there is one, adds to it.
func (f *Fleet) Observe(ctx context.Context, name string, change func(*appsv1.StatefulSet)) error {
	return retry.RetryOnConflict(patience, func() error {
		set, err := f.Set(ctx, name)
		if err != nil {
			return err
		}
		set.Status.ObservedGeneration = set.Generation
		if change != nil {
			change(set)
		}
		if _, err := f.client.AppsV1().StatefulSets(f.Namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{FieldManager: controller}); err != nil {
			return fmt.Errorf("write the set's status: %w", err)
		}
		return nil
	})
}

// Replace deletes a pod and makes its successor at the version of the set's
// template, as controller and kubelet do for an index that is released.
func (f *Fleet) Replace(ctx context.Context, name string, index int) error {
	set, err := f.Set(ctx, name)
	if err != nil {
		return err
	}
	now := int64(0)
	if err := f.client.CoreV1().Pods(f.Namespace).Delete(ctx, fmt.Sprintf("%s-%d", name, index), metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		return fmt.Errorf("delete pod: %w", err)
	}
	if err := f.Observe(ctx, name, func(s *appsv1.StatefulSet) {
		s.Status.ReadyReplicas, s.Status.AvailableReplicas = Replicas-1, Replicas-1
	}); err != nil {
		return err
	}
	version := NewVersion
	if set.Spec.Template.Spec.Containers[0].Image == image(OldVersion) {
		version = OldVersion
	}
	if err := f.create(ctx, set, index, version); err != nil {
		return err
	}
	return f.Observe(ctx, name, func(s *appsv1.StatefulSet) {
		s.Status.ReadyReplicas, s.Status.AvailableReplicas = Replicas, Replicas
		if index == 0 { // the last one in our order
			s.Status.CurrentRevision = s.Status.UpdateRevision
		}
	})
}

// Set reads a set.
func (f *Fleet) Set(ctx context.Context, name string) (*appsv1.StatefulSet, error) {
	set, err := f.client.AppsV1().StatefulSets(f.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read set: %w", err)
	}
	return set, nil
}

// Revisions are the revisions of a set's pods by index; "" where there is none.
func (f *Fleet) Revisions(ctx context.Context, name string) (found [Replicas]string, err error) {
	for index := range found {
		pod, err := f.client.CoreV1().Pods(f.Namespace).Get(ctx, fmt.Sprintf("%s-%d", name, index), metav1.GetOptions{})
		switch {
		case err == nil:
			found[index] = pod.Labels[events.PodRevisionLabel]
		case !apierrors.IsNotFound(err):
			return found, fmt.Errorf("read pod: %w", err)
		}
	}
	return found, nil
}
