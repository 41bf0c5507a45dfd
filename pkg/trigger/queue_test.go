package trigger

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

func TestWorkQueueHandsASetToOneWorkerAtATime(t *testing.T) {
	api := newAPIServer(t)
	var mu sync.Mutex
	busy, most, posts := map[string]int{}, 0, 0
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.Header.Get("Ce-Subject")
		mu.Lock()
		posts++
		busy[subject]++
		most = max(most, busy[subject])
		mu.Unlock()
		time.Sleep(5 * time.Millisecond) // long enough for another worker to come by
		mu.Lock()
		busy[subject]--
		mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
	}))
	defer sink.Close()
	for _, name := range []string{"one", "two"} {
		api.put("statefulsets", apiSet(name, func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = "b" }))
	}
	stop, ended := start(t, options(t, api.kubeconfig(t), sink.URL, "--leader-elect=false"))
	for i := range 40 {
		api.put("statefulsets", apiSet("one", func(s *appsv1.StatefulSet) {
			s.Status.UpdateRevision, s.Generation, s.Status.ObservedGeneration = "b", int64(i+2), int64(i+2)
		}))
		time.Sleep(20 * time.Millisecond)
	}
	eventually(t, "several posts", func() bool { mu.Lock(); defer mu.Unlock(); return posts >= 3 })
	stop()
	if err := wait(t, ended); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if most != 1 {
		t.Errorf("%d requests for one set at a time", most)
	}
}
