package testcluster

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Revisions of the set.
const (
	Old  = "etcd-654779d464"
	Next = "etcd-7c8d4f5b9"
)

const uid = types.UID("uid-set")

func pointer[T any](v T) *T { return &v }

// Set is a managed, locked set of three on its old revision. The change has the
// last word.
func Set(change func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "db", Name: "etcd", UID: uid, ResourceVersion: "10", Generation: 3,
			CreationTimestamp: metav1.NewTime(Noon.Add(-48 * time.Hour)),
			Labels:            map[string]string{events.LabelManaged: "true"}, Annotations: map[string]string{},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: pointer(int32(3)), ServiceName: "etcd", PodManagementPolicy: appsv1.OrderedReadyPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "etcd"}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: pointer(int32(3))}},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "etcd"}}, Spec: podSpec()},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 3, Replicas: 3, ReadyReplicas: 3, UpdatedReplicas: 3, CurrentRevision: Old, UpdateRevision: Old},
	}
	if change != nil {
		change(set)
	}
	return set
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: pointer(int64(30)), NodeName: "node-1",
		Containers: []corev1.Container{{
			Name: "etcd", Image: "registry.example/etcd:v3.6.16", Command: []string{"etcd"},
			Args:           []string{"--data-dir=/var/lib/etcd/data", "--listen-client-urls=http://$(POD_IP):2379"},
			Ports:          []corev1.ContainerPort{{Name: "client", ContainerPort: 2379}},
			VolumeMounts:   []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/etcd"}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz"}}},
		}},
	}
}

// Pod is a pod of the set that has been up for an hour.
func Pod(i int, revision string, change func(*corev1.Pod)) *corev1.Pod {
	up := metav1.NewTime(Noon.Add(-time.Hour))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("etcd-%d", i), Namespace: "db", UID: types.UID(fmt.Sprintf("uid-%d", i)), CreationTimestamp: up,
			Labels:          map[string]string{"app": "etcd", events.PodRevisionLabel: revision},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "etcd", UID: uid, Controller: pointer(true)}},
		},
		Spec: podSpec(),
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.0.0.%d", i+1),
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: up}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "etcd", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: up}}}},
		},
	}
	if change != nil {
		change(pod)
	}
	return pod
}

// Objects are the set and three pods of that revision.
func Objects(set *appsv1.StatefulSet, revision string) []runtime.Object {
	return []runtime.Object{set, Pod(0, revision, nil), Pod(1, revision, nil), Pod(2, revision, nil)}
}

// Converged marks the set as converged at its revision.
func Converged(set *appsv1.StatefulSet) {
	set.Annotations[events.AnnotationPhase] = events.PhaseConverged
	set.Annotations[events.AnnotationConvergedRevision] = set.Status.UpdateRevision
	set.Annotations[events.AnnotationReason] = ""
	set.Annotations[events.AnnotationRollout] = fmt.Sprintf(`{"uid":"uid-set","seq":9,"target":%q,"done":true,"moves":2}`, set.Status.UpdateRevision)
}

// Outdated gives the set a template that no pod runs yet.
func Outdated(set *appsv1.StatefulSet) {
	set.Status.UpdateRevision, set.Status.UpdatedReplicas = Next, 0
}

// Halted marks the set as halted with its second pod broken.
func Halted(set *appsv1.StatefulSet) {
	Outdated(set)
	set.Annotations[events.AnnotationPhase] = events.PhaseHalted
	set.Annotations[events.AnnotationHaltedRevision] = set.Status.UpdateRevision
	set.Annotations[events.AnnotationHaltID] = set.Status.UpdateRevision + "-7"
	set.Annotations[events.AnnotationReason] = "PodBroken"
	set.Annotations[events.AnnotationMessage] = "etcd-2 is not Ready 5m0s after its release: container etcd waits: ErrImagePull"
	set.Annotations[events.AnnotationRollout] = fmt.Sprintf(`{"uid":"uid-set","seq":7,"target":%q,"started":"2026-11-30T11:54:00Z"}`, set.Status.UpdateRevision)
}
