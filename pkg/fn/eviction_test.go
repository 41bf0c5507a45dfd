package fn

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A drain evicts etcd-0 after the pods were read and before the write. Its
// member still answers during its grace period, so the probe sees nothing.
func TestSS27_EvictionBetweenReadingAndWriteHoldsTheStep(t *testing.T) {
	for name, shape := range map[string]func(*world){
		"OrderedReady": func(*world) {},
		"Parallel":     func(w *world) { w.set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement },
		"OnDelete":     func(w *world) { onDelete(w) },
	} {
		w := newWorld(3).outdated()
		w.leader = 1
		shape(w)
		start := partition(w.set)
		w.before["list budgets"] = func() { // after the pods, before the members
			w.mu.Lock()
			defer w.mu.Unlock()
			now := metav1.NewTime(noon)
			w.pods["etcd-0"].DeletionTimestamp = &now
			w.pods["etcd-0"].ResourceVersion = "8"
		}
		post(t, handler(w), diverged(), preferReply)
		if len(w.deletes) != 0 || partition(w.set) < start {
			t.Errorf("%s: etcd-0 is terminating, and deletes %v, partition %d -> %d", name, w.deletes, start, partition(w.set))
		}
	}
}

// A pod of another owner with the right name would be handed our credentials.
func TestOnlyOwnPodsAreDialled(t *testing.T) {
	w := newWorld(3).outdated()
	w.pods["etcd-2"].OwnerReferences = nil
	w.pods["etcd-2"].Status.PodIP = "10.9.9.9"
	s, _ := decide(t, w)
	if len(s.endpoints) == 3 && !s.endpoints[2].Absent {
		t.Errorf("a pod of nobody is dialled at %s, with the credentials", s.endpoints[2].Address)
	}
}

type cutBody struct{}

func (cutBody) Read([]byte) (int, error) { return 0, errors.New("i/o timeout") }

// KN-10: a sender that is slow or cut off is a transient fault.
func TestKN10_ABodyThatBreaksOffIsNotMalformed(t *testing.T) {
	r := request(t, diverged())
	r.Body = io.NopCloser(cutBody{})
	rec := httptest.NewRecorder()
	handler(newWorld(3)).ServeHTTP(rec, r)
	if rec.Code == http.StatusBadRequest {
		t.Errorf("answered %d: %s", rec.Code, rec.Body)
	}
}
