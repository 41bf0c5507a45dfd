package knative

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/knative/eventing"
	"github.com/etcdroll/etcdroll/test/knative/mesh"
)

// Without the asynchronous handler whoever posts an event waits for the function,
// and for what the function's answer brings about, and so on: a whole chain is
// one request of the trigger. The roll is the same.
func TestTheSynchronousChannelRollsToo(t *testing.T) {
	w := aWorld(t)
	with := w.postTime(t, "with")
	w.asyncHandler(t, "false")
	defer w.asyncHandler(t, "true")
	without := w.postTime(t, "without")
	if with > 200*time.Millisecond || without < 300*time.Millisecond {
		t.Errorf("a function that takes 300 ms holds a POST for %s with the asynchronous handler and %s without", with, without)
	}
	t.Logf("a POST to the broker takes %s with the asynchronous handler, %s without", with, without)
	w.start(t, etcdset.WithEnv("ROLL", "synchronous"))
	w.settled(t)
	longest := time.Duration(0)
	for _, h := range w.answered(t) {
		longest = max(longest, h.Took)
	}
	t.Logf("the longest POST to the broker took %s", longest.Round(time.Millisecond))
	if longest < time.Second {
		t.Error("nobody waited for a chain: the handler is asynchronous")
	}
}

// answered are the posts to the broker since the roll began, once all of them
// have been answered.
func (w *world) answered(t *testing.T) []mesh.Hop {
	t.Helper()
	for deadline := time.Now().Add(40 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		posts := w.mesh.Hops(eventing.IngressHost, w.since)
		if !slices.ContainsFunc(posts, func(h mesh.Hop) bool { return h.Status == 0 }) {
			return posts
		}
		if time.Now().After(deadline) {
			t.Fatalf("posts to the broker are not answered: %+v", posts)
		}
	}
}

// postTime is how long the broker takes for an event about a settled set whose
// function takes at least 300 ms.
func (w *world) postTime(t *testing.T, id string) time.Duration {
	t.Helper()
	w.mesh.Spoil(func(h mesh.Hop) mesh.Fate {
		if h.Host == w.functionHost() {
			return mesh.Fate{Delay: 300 * time.Millisecond}
		}
		return mesh.Fate{}
	})
	defer w.mesh.Spoil(nil)
	status, took := http.StatusNotFound, time.Duration(0)
	for deadline := time.Now().Add(20 * time.Second); status != http.StatusAccepted && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		// A dispatcher that has just started does not know the channel yet.
		status, took = w.post(t, "{}", ours(events.TypeDiverged, id, w.namespace+"/etcd"))
	}
	if status != http.StatusAccepted {
		t.Errorf("the broker answers %d", status)
	}
	return took.Round(time.Millisecond)
}

// asyncHandler sets the annotation. A dispatcher that runs does not take it up: it
// reads it when it first meets the channel.
func (w *world) asyncHandler(t *testing.T, value string) {
	t.Helper()
	_, err := shared.Kubectl(w.ctx, nil, "-n", w.namespace, "annotate", "--overwrite", "broker/etcdroll", "messaging.knative.dev/async-handler="+value)
	must(t, err)
	_, err = shared.Kubectl(w.ctx, nil, "-n", w.namespace, "wait", "--timeout=30s", "inmemorychannel/etcdroll-kne-trigger",
		"--for=jsonpath={.metadata.annotations.messaging\\.knative\\.dev/async-handler}="+value)
	must(t, err)
	must(t, w.eventing.RestartDispatcher(w.ctx))
}
