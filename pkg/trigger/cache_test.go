package trigger

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
)

func TestLookTellsPodsOfThisVerySetFromOthers(t *testing.T) {
	api := newAPIServer(t)
	api.put("statefulsets", apiSet("etcd", func(s *appsv1.StatefulSet) {
		s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 2}
		s.Annotations[events.AnnotationRollout] = `{"seq":12,"step":{"kind":"Release"},"unplannedElections":1,"moves":2,"blockedBy":["CaughtUp","Soaked"]}`
		s.Annotations[events.AnnotationPhase], s.Annotations[events.AnnotationReason] = events.PhaseBlocked, "GatesClosed"
	}))
	for i := range 12 {
		api.put("pods", apiPod("etcd", i+2, "a"))
	}
	old := apiPod("etcd", 1, "old")
	old.OwnerReferences[0].UID = "of-a-set-that-was-deleted"
	job := apiPod("etcd", 99, "old")
	job.OwnerReferences[0].Kind = "Job"
	api.put("pods", old)
	api.put("pods", job)
	c, err := connect(Options{Kubeconfig: api.kubeconfig(t)})
	if err != nil {
		t.Fatal(err)
	}
	store := NewCache(c.apps, c.meta, Scope{})
	if err := store.Start(t.Context(), 30*time.Second, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	set, pods, ok := store.Look("prod/etcd")
	if !ok || len(pods) != 12 || set.Seq != 12 || !set.StepInFlight || set.UnplannedElections != 1 || set.OrdinalsStart != 2 {
		t.Fatalf("%t, %d pods, %+v", ok, len(pods), set)
	}
	if set.Moves != 2 || set.BlockedBy != "CaughtUp" || set.Reason != "GatesClosed" {
		t.Errorf("what is shown of the roll: %+v", set)
	}
	indexes := map[int32]bool{}
	for _, pod := range pods {
		indexes[pod.Index] = true
	}
	if !indexes[0] || !indexes[11] || len(indexes) != 12 {
		t.Errorf("indexes %v", indexes)
	}
	for _, key := range []string{"prod/none", "other/etcd", "a/b/c", ""} {
		if _, _, ok := store.Look(key); ok {
			t.Errorf("%q is there", key)
		}
	}
	if !slices.Contains(api.selectors, managedSets) {
		t.Error("sets that are not managed are read")
	}
}
