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

const managedSets = events.LabelManaged + "=true"

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

// Cache holds what is judged of the managed sets and of their pods. Client-go's reflectors fill it, one for each
// resource and namespace: relisting, resuming and the HTTP/2 pings that find a silent connection are their business.
type Cache struct {
	scope   Scope
	apps    appsclient.StatefulSetsGetter
	meta    metadata.Interface
	stock   map[string]*inventory // by namespace
	refused refusals
	failed  chan error
}

// NewCache prepares a cache; nothing is read before Start.
func NewCache(apps appsclient.StatefulSetsGetter, meta metadata.Interface, scope Scope) *Cache {
	c := &Cache{scope: scope, apps: apps, meta: meta, stock: map[string]*inventory{}, failed: make(chan error, 1)}
	for _, namespace := range scope.namespaces() {
		c.stock[namespace] = newInventory()
	}
	return c
}

func (c *Cache) watchSets(namespace string) cache.ListerWatcher {
	lister := c.apps.StatefulSets(namespace)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = managedSets
			list, err := lister.List(ctx, o)
			return list, c.heed(err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = managedSets
			w, err := lister.Watch(ctx, o)
			return w, c.heed(err)
		},
	}, c.apps)
}

func (c *Cache) watchPods(namespace string) cache.ListerWatcher {
	lister := c.meta.Resource(podsResource).Namespace(namespace)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = c.scope.PodSelector
			list, err := lister.List(ctx, o)
			return list, c.heed(err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = c.scope.PodSelector
			w, err := lister.Watch(ctx, o)
			return w, c.heed(err)
		},
	}, c.meta)
}

// Failed delivers the one error after which watching makes no sense any more, such as a missing right.
func (c *Cache) Failed() <-chan error { return c.failed }

// heed passes the answer to a list or watch on, and reports a right that is missing for good.
func (c *Cache) heed(err error) error {
	if denied := deniedRight(err); denied != nil && c.refused.last(time.Now()) {
		select {
		case c.failed <- denied:
		default:
		}
	}
	return err
}

// Start fills the caches and returns once they are filled, or with an error after the deadline. changed is told the
// key of every set about which something has changed. From then on a refusal counts as a missing right only once it has
// lasted for patience.
func (c *Cache) Start(ctx context.Context, deadline, patience time.Duration, changed func(key string)) error {
	var filled []<-chan struct{}
	for namespace, stock := range c.stock {
		sets, pods := stock.setFeed(changed), stock.podFeed(changed)
		go cache.NewReflectorWithOptions(c.watchSets(namespace), &appsv1.StatefulSet{}, sets,
			cache.ReflectorOptions{Name: setsResource.Resource}).RunWithContext(ctx)
		go cache.NewReflectorWithOptions(c.watchPods(namespace), &metav1.PartialObjectMetadata{}, pods,
			cache.ReflectorOptions{Name: podsResource.Resource}).RunWithContext(ctx)
		filled = append(filled, sets.filled, pods.filled)
	}
	timeout := time.NewTimer(deadline)
	defer timeout.Stop()
	for _, one := range filled {
		select {
		case <-one:
		case err := <-c.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			return fmt.Errorf("the caches were not filled within %s; if a proxy stands before the API server, "+
				"try the environment variable KUBE_FEATURE_WatchListClient=false", deadline)
		}
	}
	c.refused.allow(patience)
	return nil
}

// Look returns a managed set and those of its pods that it controls.
func (c *Cache) Look(key string) (*SetView, []PodView, bool) {
	namespace, _, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, nil, false
	}
	stock := c.stock[namespace]
	if all := c.stock[metav1.NamespaceAll]; all != nil {
		stock = all
	}
	if stock == nil {
		return nil, nil, false
	}
	return stock.look(key)
}

// Keys lists the managed sets.
func (c *Cache) Keys() (keys []string) {
	for _, stock := range c.stock {
		keys = append(keys, stock.keys()...)
	}
	return keys
}
