// Package follow keeps an eye on StatefulSets with one watch, which is taken
// up again whenever it ends.
package follow

import (
	"cmp"
	"context"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Sets are the sets that are followed. What it shows may be behind.
type Sets struct {
	informer cache.SharedIndexInformer
	changed  chan struct{}

	mu      sync.Mutex
	trouble error
}

// One follows the set of that name.
func One(ctx context.Context, client kubernetes.Interface, namespace, name string) *Sets {
	return start(ctx, client, namespace, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
}

// Managed follows all sets that are opted in; the namespace may be empty.
func Managed(ctx context.Context, client kubernetes.Interface, namespace string) *Sets {
	return start(ctx, client, namespace, metav1.ListOptions{LabelSelector: events.LabelManaged + "=true"})
}

func start(ctx context.Context, client kubernetes.Interface, namespace string, only metav1.ListOptions) *Sets {
	s := &Sets{changed: make(chan struct{}, 1)}
	api := client.AppsV1().StatefulSets(namespace)
	s.informer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector, o.LabelSelector = only.FieldSelector, only.LabelSelector
			list, err := api.List(ctx, o)
			s.note(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector, o.LabelSelector = only.FieldSelector, only.LabelSelector
			w, err := api.Watch(ctx, o)
			s.note(err)
			return w, err
		},
	}, listsFirst{}), &appsv1.StatefulSet{}, 0, cache.Indexers{})
	_, _ = s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.ring() },
		UpdateFunc: func(any, any) { s.ring() },
		DeleteFunc: func(any) { s.ring() },
	})
	// What it would print is told by Trouble.
	_ = s.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { s.note(err); s.ring() })
	go s.informer.RunWithContext(ctx)
	return s
}

// listsFirst makes the reflector list before it watches. Some proxies on the way
// from a laptop keep back the bookmark that ends a list made of watch events.
type listsFirst struct{}

// IsWatchListSemanticsUnSupported is how the reflector asks.
func (listsFirst) IsWatchListSemanticsUnSupported() bool { return true }

func (s *Sets) ring() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *Sets) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = err
}

// Changed rings after something has changed. Changes that come in quick
// succession ring once.
func (s *Sets) Changed() <-chan struct{} { return s.changed }

// Trouble is why the watch is interrupted; nil while it is not.
func (s *Sets) Trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

// All are the sets as last seen, by namespace and name; false until they were
// seen once.
func (s *Sets) All() ([]*appsv1.StatefulSet, bool) {
	var list []*appsv1.StatefulSet
	for _, object := range s.informer.GetStore().List() {
		list = append(list, object.(*appsv1.StatefulSet))
	}
	slices.SortFunc(list, func(a, b *appsv1.StatefulSet) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list, s.informer.HasSynced()
}
