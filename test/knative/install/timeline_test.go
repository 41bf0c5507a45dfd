package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// timeline is when the revision's Deployment and pods were first seen in each
// state, as far as a watch tells.
type timeline struct {
	mu       sync.Mutex
	seen     map[string]time.Time
	replicas int32
	pods     map[string]bool // that are not to end
}

// watchFunction follows all Deployments and pods of Knative's revisions in the
// namespace until it is stopped.
func watchFunction(t *testing.T, namespace string, stop <-chan struct{}) *timeline {
	t.Helper()
	l := &timeline{seen: map[string]time.Time{}, pods: map[string]bool{}, replicas: -1}
	factory := informers.NewSharedInformerFactoryWithOptions(shared.Client, 0, informers.WithNamespace(namespace))
	for _, informer := range []cache.SharedIndexInformer{factory.Apps().V1().Deployments().Informer(), factory.Core().V1().Pods().Informer()} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: l.take, UpdateFunc: func(_, now any) { l.take(now) }, DeleteFunc: l.gone})
		must(t, err)
	}
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	return l
}

const revisionLabel = "serving.knative.dev/revision"

func (l *timeline) take(object any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch o := object.(type) {
	case *appsv1.Deployment:
		if o.Labels[revisionLabel] != "" && *o.Spec.Replicas != l.replicas {
			l.replicas = *o.Spec.Replicas
			l.mark(fmt.Sprintf("scaled to %d", l.replicas))
		}
	case *corev1.Pod:
		if o.Labels[revisionLabel] == "" {
			return
		}
		if o.DeletionTimestamp != nil {
			l.end(o, "last pod told to end")
			return
		}
		l.pods[o.Name] = true
		l.mark("pod created")
		if o.Spec.NodeName != "" {
			l.mark("pod scheduled")
		}
		if runningContainers(o) == len(o.Spec.Containers) {
			l.mark("containers run")
		}
		if slices.ContainsFunc(o.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			l.mark("pod Ready")
		}
	}
}

func (l *timeline) gone(object any) {
	if pod, ok := object.(*corev1.Pod); ok && pod.Labels[revisionLabel] != "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.end(pod, "last pod gone")
	}
}

func (l *timeline) end(pod *corev1.Pod, what string) {
	delete(l.pods, pod.Name)
	if len(l.pods) == 0 {
		l.mark(what)
	}
}

func (l *timeline) mark(what string) {
	if _, known := l.seen[what]; !known {
		l.seen[what] = time.Now()
	}
}

func runningContainers(pod *corev1.Pod) (n int) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			n++
		}
	}
	return n
}

// forget begins anew.
func (l *timeline) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.seen)
}

// atZero says that nothing is to run. A pod that was told to end answers what it
// still has for half a minute, and nothing new.
func (l *timeline) atZero() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replicas == 0 && len(l.pods) == 0
}

// since tells each state by its distance from a moment.
func (l *timeline) since(from time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var told []string
	for _, what := range slices.SortedFunc(maps.Keys(l.seen), func(a, b string) int { return l.seen[a].Compare(l.seen[b]) }) {
		told = append(told, fmt.Sprintf("%s %s", what, l.seen[what].Sub(from).Round(time.Millisecond)))
	}
	return strings.Join(told, ", ")
}

// untilZero waits for it.
func (l *timeline) untilZero(t *testing.T, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); !l.atZero(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the function is not scaled to zero within %s: %s", within, l.since(deadline.Add(-within)))
		}
	}
}
