package trigger

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/etcdroll/etcdroll/pkg/events"
)

var (
	setsResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	podsResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

const (
	bySet       = "set"
	managedSets = events.LabelManaged + "=true"
)

// Scope is what the trigger watches.
type Scope struct {
	// Namespaces to watch; empty: all.
	Namespaces []string
	// PodSelector narrows the pods that are watched, for namespaces with very many of them; empty: all pods.
	PodSelector string
}

func (s Scope) namespaces() []string {
	if len(s.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return s.Namespaces
}

// Cache holds the managed sets, stripped of all but what is judged, and the metadata of pods. It is client-go's own
// informer machinery, one informer per resource and namespace: relisting, resuming and the HTTP/2 pings that find a
// silent connection are its business.
type Cache struct {
	scope  Scope
	sets   map[string]cache.SharedIndexInformer
	pods   map[string]cache.SharedIndexInformer
	failed chan error
}

// NewCache makes the informers; nothing is read before Start.
func NewCache(apps appsclient.StatefulSetsGetter, meta metadata.Interface, scope Scope) (*Cache, error) {
	c := &Cache{
		scope: scope, sets: map[string]cache.SharedIndexInformer{}, pods: map[string]cache.SharedIndexInformer{},
		failed: make(chan error, 1),
	}
	for _, namespace := range scope.namespaces() {
		c.sets[namespace] = newSetInformer(apps, namespace)
		c.pods[namespace] = newPodInformer(meta, namespace, scope.PodSelector)
		for _, err := range []error{
			c.sets[namespace].SetTransform(stripSet), c.pods[namespace].SetTransform(stripPod),
			c.sets[namespace].SetWatchErrorHandlerWithContext(c.watchError),
			c.pods[namespace].SetWatchErrorHandlerWithContext(c.watchError),
		} {
			if err != nil {
				return nil, fmt.Errorf("prepare informers: %w", err)
			}
		}
	}
	return c, nil
}

func newSetInformer(apps appsclient.StatefulSetsGetter, namespace string) cache.SharedIndexInformer {
	lister := apps.StatefulSets(namespace)
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = managedSets
			return lister.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = managedSets
			return lister.Watch(ctx, o)
		},
	}, apps), &appsv1.StatefulSet{}, 0, cache.Indexers{})
}

func newPodInformer(meta metadata.Interface, namespace, selector string) cache.SharedIndexInformer {
	lister := meta.Resource(podsResource).Namespace(namespace)
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			return lister.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			return lister.Watch(ctx, o)
		},
	}, meta), &metav1.PartialObjectMetadata{}, 0, cache.Indexers{bySet: indexBySet})
}

func indexBySet(obj any) ([]string, error) {
	pod, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, nil
	}
	name, _, owned := ownerSet(pod)
	if !owned {
		return nil, nil
	}
	return []string{pod.Namespace + "/" + name}, nil
}

// Failed delivers the one error after which watching makes no sense any more, such as a missing right.
func (c *Cache) Failed() <-chan error { return c.failed }

func (c *Cache) watchError(ctx context.Context, r *cache.Reflector, err error) {
	if denied := deniedRight(err); denied != nil {
		select {
		case c.failed <- denied:
		default:
		}
		return
	}
	cache.DefaultWatchErrorHandler(ctx, r, err)
}

// Start fills the caches and returns once they are filled, or with an error after the deadline. changed is told the
// key of every set about which something has changed.
func (c *Cache) Start(ctx context.Context, deadline time.Duration, changed func(key string)) error {
	ctxSync, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var synced []cache.InformerSynced
	for namespace := range c.sets {
		for _, start := range []struct {
			informer cache.SharedIndexInformer
			handler  cache.ResourceEventHandler
		}{{c.sets[namespace], setHandler(changed)}, {c.pods[namespace], podHandler(changed)}} {
			if _, err := start.informer.AddEventHandler(start.handler); err != nil {
				return fmt.Errorf("add event handler: %w", err)
			}
			go start.informer.RunWithContext(ctx)
			synced = append(synced, start.informer.HasSynced)
		}
	}
	done := make(chan bool, 1)
	go func() { done <- cache.WaitForCacheSync(ctxSync.Done(), synced...) }()
	select {
	case err := <-c.failed:
		return err
	case ok := <-done:
		if ok || ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("the caches were not filled within %s; if a proxy stands before the API server, "+
		"try the environment variable KUBE_FEATURE_WatchListClient=false", deadline)
}

// Look returns a managed set and those of its pods that it controls.
func (c *Cache) Look(key string) (SetView, []PodView, bool) {
	namespace, _, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return SetView{}, nil, false
	}
	sets, pods := c.informers(namespace)
	if sets == nil {
		return SetView{}, nil, false
	}
	obj, found, err := sets.GetIndexer().GetByKey(key)
	if err != nil || !found {
		return SetView{}, nil, false
	}
	stored, ok := obj.(*appsv1.StatefulSet)
	if !ok {
		return SetView{}, nil, false
	}
	set := viewOfSet(stored)
	owned, err := pods.GetIndexer().ByIndex(bySet, key)
	if err != nil {
		return SetView{}, nil, false
	}
	views := make([]PodView, 0, len(owned))
	for _, obj := range owned {
		if pod, ok := obj.(*metav1.PartialObjectMetadata); ok {
			if view, mine := viewOfPod(set, pod); mine {
				views = append(views, view)
			}
		}
	}
	return set, views, set.Managed
}

func (c *Cache) informers(namespace string) (sets, pods cache.SharedIndexInformer) {
	if all := c.sets[metav1.NamespaceAll]; all != nil {
		return all, c.pods[metav1.NamespaceAll]
	}
	return c.sets[namespace], c.pods[namespace]
}

// Keys lists the managed sets.
func (c *Cache) Keys() (keys []string) {
	for _, informer := range c.sets {
		keys = append(keys, informer.GetIndexer().ListKeys()...)
	}
	return keys
}
