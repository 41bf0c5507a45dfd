package observer

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/etcdroll/etcdroll/test/e2e/access"
)

// Observer watches one set, its pods and its members until it is stopped.
type Observer struct {
	namespace, name string
	members         access.Access

	mu      sync.Mutex
	changed chan struct{} // closed and renewed at every change
	sets    []SetState
	pods    []PodState
	samples []Sample
	broken  error

	announced []Announcement // by others than the product

	cancel context.CancelFunc
	wait   sync.WaitGroup
}

// Start begins to watch the set of this name and the pods with label app=name.
// The set must exist.
func Start(ctx context.Context, client kubernetes.Interface, namespace, name string) (*Observer, error) {
	return StartWith(ctx, client, namespace, name, access.Access{})
}

// StartWith is Start for a set whose members want certificates or users.
func StartWith(ctx context.Context, client kubernetes.Interface, namespace, name string, members access.Access) (*Observer, error) {
	ctx, cancel := context.WithCancel(ctx)
	o := &Observer{namespace: namespace, name: name, members: members, changed: make(chan struct{}), cancel: cancel}
	set, err := client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("observe: %w", err)
	}
	selector := labels.SelectorFromSet(labels.Set{"app": name}).String()
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("observe: %w", err)
	}
	o.seeSet(set, false)
	for i := range pods.Items {
		o.seePod(&pods.Items[i], false)
	}
	err = o.follow(ctx, set.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
		opts.FieldSelector = "metadata.name=" + name
		return client.AppsV1().StatefulSets(namespace).Watch(ctx, opts)
	}})
	if err == nil {
		err = o.follow(ctx, pods.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = selector
			return client.CoreV1().Pods(namespace).Watch(ctx, opts)
		}})
	}
	if err != nil {
		o.Stop()
		return nil, fmt.Errorf("observe: %w", err)
	}
	for i := range o.Set().Replicas {
		o.wait.Go(func() { o.poll(ctx, i) })
	}
	return o, nil
}

// Stop ends all watching and returns when nothing is under way any more.
func (o *Observer) Stop() {
	o.cancel()
	o.wait.Wait()
}

func (o *Observer) follow(ctx context.Context, from string, source cache.WatcherWithContext) error {
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, from, source)
	if err != nil {
		return err
	}
	o.wait.Go(func() {
		for event := range watcher.ResultChan() {
			o.see(event)
		}
		if ctx.Err() == nil {
			o.fail(fmt.Errorf("a watch of %s/%s ended: the history has a hole", o.namespace, o.name))
		}
	})
	return nil
}

func (o *Observer) see(event watch.Event) {
	gone := event.Type == watch.Deleted
	switch object := event.Object.(type) {
	case *appsv1.StatefulSet:
		o.seeSet(object, gone)
	case *corev1.Pod:
		o.seePod(object, gone)
	case runtime.Object:
		if event.Type == watch.Error {
			o.fail(fmt.Errorf("watch of %s/%s: %v", o.namespace, o.name, object))
		}
	}
}

func (o *Observer) seeSet(s *appsv1.StatefulSet, gone bool) {
	state := setState(s)
	state.Deleted = gone
	o.add(func() { o.sets = append(o.sets, state) })
}

func (o *Observer) seePod(p *corev1.Pod, gone bool) {
	state := podState(p)
	state.Gone = gone
	if state.Index >= 0 {
		o.add(func() { o.pods = append(o.pods, state) })
	}
}

func (o *Observer) fail(err error) { o.add(func() { o.broken = err }) }

// add changes what is known and wakes those who wait for a change.
func (o *Observer) add(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
	close(o.changed)
	o.changed = make(chan struct{})
}
