package agent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/etcdroll/etcdroll/test/local/pod"
)

// A pod's successor has its name. What ends the old one must not end the new:
// only a pod that somebody has asked to delete goes, and by its uid.
func TestOnlyADeletedPodIsEnded(t *testing.T) {
	successor := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd-2", UID: "new"}}
	client := fake.NewClientset(successor)
	runs := pod.New(nil, successor, nil, func(*corev1.Pod) {})
	p := &provider{runtime: &runtime{byUID: map[types.UID]*pod.Worker{"new": runs}}}
	p.api = &statusClient{client: client.CoreV1(), runtime: p.runtime}
	there := func() bool {
		_, err := client.CoreV1().Pods("ns").Get(t.Context(), "etcd-2", metav1.GetOptions{})
		return err == nil
	}

	byUID := metav1.NewDeleteOptions(0)
	byUID.Preconditions = metav1.NewUIDPreconditions("new")
	for _, o := range []*metav1.DeleteOptions{metav1.NewDeleteOptions(0), byUID} {
		if err := p.api.Pods("ns").Delete(t.Context(), "etcd-2", *o); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.DeletePod(t.Context(), successor); err != nil {
		t.Fatal(err)
	}
	if !there() || runs.Stopping() {
		t.Errorf("the successor: in the API server %t, being stopped %t", there(), runs.Stopping())
	}

	now := metav1.Now()
	successor.DeletionTimestamp = &now
	if _, err := client.CoreV1().Pods("ns").Update(t.Context(), successor, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.runtime.byUID = nil // nothing of it runs any more
	if err := p.api.Pods("ns").Delete(t.Context(), "etcd-2", *byUID); err != nil {
		t.Fatal(err)
	}
	if there() {
		t.Error("a pod that was deleted, and named by its uid, is still there")
	}
}

// All nodes share one runtime. The one that the old pod was on must not take its
// successor elsewhere for what is left of it.
func TestANodeKnowsOnlyItsOwnPods(t *testing.T) {
	here := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd-2", UID: "new"}, Spec: corev1.PodSpec{NodeName: "node-1"}}
	shared := &runtime{
		byUID:   map[types.UID]*pod.Worker{"new": pod.New(nil, here, nil, func(*corev1.Pod) {})},
		current: map[types.NamespacedName]types.UID{{Namespace: "ns", Name: "etcd-2"}: "new"},
	}
	none := corev1listers.NewPodLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}))
	for node, has := range map[string]bool{"node-1": true, "node-2": false} {
		p := &provider{runtime: shared, node: node, pods: none}
		if found, err := p.GetPod(t.Context(), "ns", "etcd-2"); (err == nil) != has || (found != nil) != has {
			t.Errorf("%s: %v, %v", node, found, err)
		}
	}
}
