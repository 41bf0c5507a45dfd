package fn

import (
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

const (
	oldRevision = "etcd-a"
	newRevision = "etcd-b"
	setUID      = types.UID("uid-set")
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func memberID(i int) guard.ID { return guard.ID(0xa0 + i) }

func peers(n int) []guard.Peer {
	var list []guard.Peer
	for i := range n {
		list = append(list, guard.Peer{ID: memberID(i), Name: fmt.Sprintf("etcd-%d", i)})
	}
	return list
}

func etcdSet(replicas int) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: "etcd", Namespace: "db", UID: setUID, ResourceVersion: "10", Generation: 3,
			Labels: map[string]string{events.LabelManaged: "true"}, Annotations: map[string]string{},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr(int32(replicas)), ServiceName: "etcd", PodManagementPolicy: appsv1.OrderedReadyPodManagement,
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr(int32(replicas))},
			},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "etcd"}}, Spec: etcdPodSpec()},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 3, Replicas: int32(replicas), CurrentRevision: oldRevision, UpdateRevision: oldRevision},
	}
}

func etcdPodSpec() corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr(int64(30)),
		Containers: []corev1.Container{{
			Name: "etcd", Image: "registry.example/etcd:v3.6.16",
			Command:      []string{"etcd"},
			Args:         []string{"--data-dir=/var/lib/etcd/data", "--listen-client-urls=http://$(POD_IP):2379"},
			Ports:        []corev1.ContainerPort{{Name: "client", ContainerPort: 2379}},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/etcd"}},
		}},
	}
}

func etcdPod(name, revision string) *corev1.Pod {
	up := metav1.NewTime(noon.Add(-time.Hour))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "db", UID: types.UID("uid-" + name), ResourceVersion: "7", CreationTimestamp: up,
			Labels:          map[string]string{"app": "etcd", events.PodRevisionLabel: revision},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "etcd", UID: setUID, Controller: ptr(true)}},
		},
		Spec: etcdPodSpec(),
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0." + strconv.Itoa(len(name)),
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: up}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "etcd", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: up}}}},
		},
	}
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "x", fmt.Errorf("no right"))
}

func unreachable() guard.Member {
	return guard.Member{Problem: guard.Unreachable, Detail: "Status: no connection"}
}
