package trigger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// apiSet is a set as the API server stores it: converged on revision a.
func apiSet(name string, change func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: name, UID: types.UID("uid-" + name), Generation: 1,
			Labels:      map[string]string{events.LabelManaged: "true", "app": "etcd"},
			Annotations: map[string]string{events.AnnotationConvergedRevision: "a", "other": "thing"},
		},
		Spec: appsv1.StatefulSetSpec{Replicas: ptr(int32(3)), UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr(int32(3))},
		}},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, CurrentRevision: "a", UpdateRevision: "a"},
	}
	set.Spec.Template.Labels = map[string]string{"big": strings.Repeat("x", 1000)}
	if change != nil {
		change(set)
	}
	return set
}

func apiPod(set string, ordinal int, revision string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "prod", Name: fmt.Sprintf("%s-%d", set, ordinal), UID: types.UID(fmt.Sprintf("%s-%d-%s", set, ordinal, revision)),
		Labels: map[string]string{events.PodRevisionLabel: revision, "app": "etcd"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "StatefulSet", Name: set, UID: types.UID("uid-" + set), Controller: ptr(true),
		}},
	}}
}

// eventually polls until ok, and fails with the last message at the deadline.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
