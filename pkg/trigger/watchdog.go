package trigger

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
)

// Mirror compares one cache with the API server.
type Mirror struct {
	// Resource is the name for logs and metrics.
	Resource string
	// Live lists what the API server has: object to resource version.
	Live func(ctx context.Context) (map[string]string, error)
	// Cached goes through what the cache has.
	Cached func() iter.Seq2[string, string]
	// SetOf names the set that an object is about; empty if none.
	SetOf func(object string) string
}

// Watchdog notices a watch that has gone silent without closing. It lists on its own clock and compares; what the
// cache still lacks after a moment is asked about on the strength of the list, and a cache that does not catch up makes
// the process unhealthy, so that it is restarted.
type Watchdog struct {
	Mirrors []Mirror
	// Every is the interval between two comparisons, Settle the time a healthy watch needs to catch up, Patience the
	// time after which the cache is given up.
	Every, Settle, Patience time.Duration
	Clock                   clock.Clock
	Health                  *Health
	Metrics                 *Metrics
	Log                     *slog.Logger
	// Force has a set asked about whatever the cache says.
	Force func(key string)
}

// Run compares until the context ends.
func (w *Watchdog) Run(ctx context.Context) {
	for w.sleep(ctx, w.Every) {
		for _, m := range w.Mirrors {
			if !w.compare(ctx, m) {
				return
			}
		}
	}
}

// compare is false if the context ended meanwhile.
func (w *Watchdog) compare(ctx context.Context, m Mirror) bool {
	live, err := m.Live(ctx)
	if err != nil {
		// An API server that does not answer is no sign against the cache, and a restart would not help.
		w.Log.Warn("relist failed", "resource", m.Resource, "detail", err.Error())
		return ctx.Err() == nil
	}
	behind := differences(live, m.Cached())
	if len(behind) > 0 {
		if !w.sleep(ctx, w.Settle) {
			return false
		}
		behind = unmoved(behind, m.Cached())
	}
	if len(behind) == 0 {
		w.current(m)
		return true
	}
	w.Log.Warn("the cache is behind the API server", "resource", m.Resource, "objects", len(behind))
	for object := range behind {
		if key := m.SetOf(object); key != "" {
			w.Force(key)
		}
	}
	return w.await(ctx, m, behind)
}

// await gives the cache until Patience to move on from what it held. It lists once more, lest an object that lived for
// a moment only be taken for one that the cache never got.
func (w *Watchdog) await(ctx context.Context, m Mirror, behind map[string]string) bool {
	if !w.sleep(ctx, w.Patience) {
		return false
	}
	live, err := m.Live(ctx)
	if err != nil {
		w.Log.Warn("relist failed", "resource", m.Resource, "detail", err.Error())
		return ctx.Err() == nil
	}
	stuck := 0
	for object, version := range unmoved(behind, m.Cached()) {
		if live[object] != version {
			stuck++
		}
	}
	if stuck > 0 {
		w.Log.Error("the watch makes no progress", "resource", m.Resource, "objects", stuck)
		w.Health.Sick(m.Resource, fmt.Sprintf("the watch of %s makes no progress", m.Resource))
		return true
	}
	w.current(m)
	return true
}

func (w *Watchdog) current(m Mirror) {
	w.Health.Sick(m.Resource, "")
	w.Metrics.Current(m.Resource, w.Clock.Now())
}

func (w *Watchdog) sleep(ctx context.Context, d time.Duration) bool {
	timer := w.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// differences are the objects that the cache holds otherwise than the list, with the version that the cache holds; ""
// is an object that is not there. It uses the list up, so that a large one is held once and the cache not at all.
func differences(live map[string]string, cached iter.Seq2[string, string]) map[string]string {
	behind := map[string]string{}
	for object, version := range cached {
		if live[object] != version {
			behind[object] = version
		}
		delete(live, object)
	}
	for object := range live {
		behind[object] = ""
	}
	return behind
}

// unmoved are those of which the cache still holds the very same version. A busy object differs from any list, but it
// moves.
func unmoved(behind map[string]string, cached iter.Seq2[string, string]) map[string]string {
	now := map[string]string{}
	for object, version := range cached {
		if _, was := behind[object]; was {
			now[object] = version
		}
	}
	left := map[string]string{}
	for object, version := range behind {
		if now[object] == version {
			left[object] = version
		}
	}
	return left
}

const pageSize = 500

// listLive reads names and versions of what is ours page by page, metadata only.
func listLive(
	ctx context.Context, meta metadata.Interface, resource schema.GroupVersionResource, namespaces []string, selector string,
	ours func(*metav1.PartialObjectMetadata) bool,
) (map[string]string, error) {
	live := map[string]string{}
	for _, namespace := range namespaces {
		options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
		for {
			page, err := meta.Resource(resource).Namespace(namespace).List(ctx, options)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
			}
			for i := range page.Items {
				if !ours(&page.Items[i]) {
					continue
				}
				live[page.Items[i].Namespace+"/"+page.Items[i].Name] = page.Items[i].ResourceVersion
			}
			if options.Continue = page.Continue; options.Continue == "" {
				break
			}
		}
	}
	return live, nil
}

// Mirrors are the comparisons of this cache's two resources.
func (c *Cache) Mirrors(meta metadata.Interface) []Mirror {
	return []Mirror{{
		Resource: setsResource.Resource,
		Live: func(ctx context.Context) (map[string]string, error) {
			return listLive(ctx, meta, setsResource, c.scope.namespaces(), managedSets, everySet)
		},
		Cached: c.heldSets,
		SetOf:  func(object string) string { return object },
	}, {
		Resource: podsResource.Resource,
		Live: func(ctx context.Context) (map[string]string, error) {
			return listLive(ctx, meta, podsResource, c.scope.namespaces(), c.scope.PodSelector, podOfSet)
		},
		Cached: c.heldPods,
		SetOf:  c.setOfPod,
	}}
}

func everySet(*metav1.PartialObjectMetadata) bool { return true }

// podOfSet says whether the cache keeps a pod.
func podOfSet(pod *metav1.PartialObjectMetadata) bool {
	kept, err := stripPod(pod)
	return err == nil && kept.owned
}
