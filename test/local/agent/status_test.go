package agent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// A pod's successor has its name. What ends the old one must not end the new.
func TestNoPodIsDeletedByItsNameAlone(t *testing.T) {
	successor := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd-2", UID: "new"}}
	client := fake.NewClientset(successor)
	pods := (&statusClient{client: client.CoreV1(), runtime: &runtime{}}).Pods("ns")
	if err := pods.Delete(t.Context(), "etcd-2", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods("ns").Get(t.Context(), "etcd-2", metav1.GetOptions{}); err != nil {
		t.Errorf("the successor is gone: %v", err)
	}
	byUID := metav1.NewDeleteOptions(0)
	byUID.Preconditions = metav1.NewUIDPreconditions("new")
	if err := pods.Delete(t.Context(), "etcd-2", *byUID); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods("ns").Get(t.Context(), "etcd-2", metav1.GetOptions{}); err == nil {
		t.Error("a pod that was named by its uid is still there")
	}
}
