package observer

import (
	"bytes"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// stored is an object as the API server stores it.
func stored(t *testing.T, object runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheRegistryIsReadAsTheAPIServerWroteIt(t *testing.T) {
	replicas := int32(3)
	set := &appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, Spec: appsv1.StatefulSetSpec{Replicas: &replicas}}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "etcd-2", UID: "u"}}
	o := &Observer{changed: make(chan struct{})}
	put := func(object runtime.Object, revision int64) {
		o.seeEvent(&clientv3.Event{Type: mvccpb.PUT, Kv: &mvccpb.KeyValue{Value: stored(t, object), ModRevision: revision}})
	}
	put(set, 41)
	put(pod, 42)
	o.seeEvent(&clientv3.Event{Type: mvccpb.DELETE, Kv: &mvccpb.KeyValue{ModRevision: 43}, PrevKv: &mvccpb.KeyValue{Value: stored(t, pod), ModRevision: 42}})
	if o.broken != nil {
		t.Fatal(o.broken)
	}
	if s := o.Set(); s.Version != 41 || s.Replicas != 3 {
		t.Errorf("set %+v", s)
	}
	h := o.History()
	if len(h.Pods) != 2 || h.Pods[0].Version != 42 || h.Pods[0].Gone || h.Pods[1].Version != 43 || !h.Pods[1].Gone || h.Pods[1].UID != "u" || h.Pods[1].Index != 2 {
		t.Errorf("pods %+v", h.Pods)
	}
	o.seeStored([]byte("k8s\x00 no object"), 44, false)
	if o.broken == nil {
		t.Error("what cannot be read is no hole in the history")
	}
}
