package trigger

import (
	"fmt"
	"runtime"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// largeFleet is n converged sets of three pods, stored as the informers would store them.
func largeFleet(tb testing.TB, n int) *Cache {
	tb.Helper()
	c := NewCache(nil, nil, Scope{})
	sets, pods := c.stock[""].setFeed(func(string) {}), c.stock[""].podFeed(func(string) {})
	for i := range n {
		name := fmt.Sprintf("etcd-%05d", i)
		revision := name + "-5d8f7c9b6d"
		set := apiSet(name, func(s *appsv1.StatefulSet) {
			s.UID, s.ResourceVersion = types.UID(fmt.Sprintf("5b0f2c1e-6a55-4f0e-9d5c-%012d", i)), fmt.Sprint(1000000+i)
			s.Status.CurrentRevision, s.Status.UpdateRevision = revision, revision
			s.Annotations = map[string]string{
				events.AnnotationConvergedRevision: revision, events.AnnotationPhase: events.PhaseConverged,
				events.AnnotationReason: "Converged", events.AnnotationMessage: "every pod is at the target revision, and the set is locked",
				events.AnnotationRollout: `{"seq":9,"uid":"` + string(s.UID) + `","target":"` + revision + `","moves":1}`,
			}
			s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: events.FieldManager, Operation: "Update", FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:etcdroll.dev/converged-revision":{},"f:etcdroll.dev/phase":{},"f:etcdroll.dev/reason":{},"f:etcdroll.dev/rollout":{}}}}`)}}
		})
		store(tb, sets.Add, set)
		for ordinal := range 3 {
			pod := apiPod(name, ordinal, revision)
			pod.UID, pod.ResourceVersion = types.UID(fmt.Sprintf("7c0f2c1e-6a55-4f0e-%04d-%012d", ordinal, i)), fmt.Sprint(2000000+i)
			pod.OwnerReferences[0].UID = set.UID
			store(tb, pods.Add, pod)
		}
	}
	return c
}

func store(tb testing.TB, add func(any) error, object any) {
	tb.Helper()
	if err := add(object); err != nil {
		tb.Fatal(err)
	}
}

func live() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMemory reports what a set with its three pods takes, in the cache and in the trigger's own memory.
func BenchmarkMemory(b *testing.B) {
	const sets = 10000
	for b.Loop() {
		before := live()
		c := largeFleet(b, sets)
		cached := live()
		w := newWorld(&testing.T{})
		w.trigger.Store = c
		for _, key := range c.Keys() {
			w.trigger.Look(b.Context(), key)
		}
		remembered := live()
		b.ReportMetric(float64(cached-before)/sets, "cache-B/set")
		b.ReportMetric(float64(remembered-cached)/sets, "records-B/set")
		runtime.KeepAlive(w)
	}
}

// BenchmarkSweep looks at a converged set, as the sweep does with each.
func BenchmarkSweep(b *testing.B) {
	c := largeFleet(b, 1000)
	w := newWorld(&testing.T{})
	w.trigger.Store = c
	keys := c.Keys()
	for i := 0; b.Loop(); i++ {
		w.trigger.Look(b.Context(), keys[i%len(keys)])
	}
}
