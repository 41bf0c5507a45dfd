// Package judge counts how many sets are in a roll at any moment. It watches
// sets and pods by itself and shares no code with the product: resource
// versions are revisions of one store, so that what two watches bring can be
// put into the one order in which it happened.
package judge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// Judge writes down all that happens to the sets of a namespace and their pods.
type Judge struct {
	stop context.CancelFunc
	wait sync.WaitGroup

	mu      sync.Mutex
	start   map[string]state // when the watches began
	journal []entry
	broken  error
}

// state is what is judged of a set.
type state struct {
	replicas, partition        int32
	phase, target, convergedOn string
	pods                       map[string]string // name to revision
}

// entry is one change.
type entry struct {
	revision uint64
	set      string
	apply    func(*state)
}

// Watch begins. Nothing may change between here and its return.
func Watch(ctx context.Context, client kubernetes.Interface, namespace string) (*Judge, error) {
	sets, err := client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list sets: %w", err)
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	j := &Judge{start: map[string]state{}}
	for i := range sets.Items {
		s := state{pods: map[string]string{}}
		ofSet(&sets.Items[i]).apply(&s)
		j.start[sets.Items[i].Name] = s
	}
	for i := range pods.Items {
		e := ofPod(&pods.Items[i], false)
		s := j.start[e.set]
		e.apply(&s)
	}
	ctx, j.stop = context.WithCancel(ctx)
	j.follow(ctx, sets.ResourceVersion, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return client.AppsV1().StatefulSets(namespace).Watch(ctx, o)
	})
	j.follow(ctx, pods.ResourceVersion, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return client.CoreV1().Pods(namespace).Watch(ctx, o)
	})
	return j, nil
}

func ofSet(set *appsv1.StatefulSet) entry {
	return entry{set: set.Name, apply: func(s *state) {
		s.replicas, s.partition = *set.Spec.Replicas, *set.Spec.UpdateStrategy.RollingUpdate.Partition
		s.phase, s.convergedOn = set.Annotations["etcdroll.dev/phase"], set.Annotations["etcdroll.dev/converged-revision"]
		s.target = set.Status.UpdateRevision
	}}
}

func ofPod(pod *corev1.Pod, gone bool) entry {
	return entry{set: pod.OwnerReferences[0].Name, apply: func(s *state) {
		if gone {
			delete(s.pods, pod.Name)
			return
		}
		s.pods[pod.Name] = pod.Labels["controller-revision-hash"]
	}}
}

func (j *Judge) follow(ctx context.Context, from string, open func(context.Context, metav1.ListOptions) (watch.Interface, error)) {
	w, err := toolswatch.NewRetryWatcherWithContext(ctx, from, &cache.ListWatch{WatchFuncWithContext: open})
	if err != nil {
		j.fail(err)
		return
	}
	j.wait.Go(func() {
		defer w.Stop()
		for event := range w.ResultChan() {
			j.see(event.Type, event.Object)
		}
		if ctx.Err() == nil {
			j.fail(errors.New("a watch has ended"))
		}
	})
}

func (j *Judge) see(kind watch.EventType, object runtime.Object) {
	var e entry
	var version string
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		e, version = ofSet(o), o.ResourceVersion
	case *corev1.Pod:
		e, version = ofPod(o, kind == watch.Deleted), o.ResourceVersion
	default:
		j.fail(fmt.Errorf("the watch says %T", object))
		return
	}
	var err error
	if e.revision, err = strconv.ParseUint(version, 10, 64); err != nil {
		j.fail(fmt.Errorf("resource version: %w", err))
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.journal = append(j.journal, e)
}

func (j *Judge) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil {
		j.broken = err
	}
}
