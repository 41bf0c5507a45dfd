// Package fleet fills an API server with sets of three pods each, as their
// owners, the StatefulSet controller, the kubelet and the function leave them.
package fleet

import (
	"fmt"
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Replicas of every set.
const Replicas = 3

// Versions of the template: every fleet begins with the old one.
const (
	OldVersion = "v3.6.16"
	NewVersion = "v3.7.3"
)

// Field managers of those who are played.
const (
	owner      = "owner"
	controller = "kube-controller-manager"
	kubelet    = "kubelet"
)

// Name of the n-th set.
func Name(n int) string { return fmt.Sprintf("etcd-%05d", n) }

// Revision is the name that the controller gives to a template.
func Revision(set, version string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(set + version))
	return fmt.Sprintf("%s-%010x", set, h.Sum32())
}

func image(version string) string { return "registry.local/etcd:" + version }

func manifest(namespace, name, version string) *appsv1.StatefulSet {
	replicas, partition := int32(Replicas), int32(Replicas)
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels:      map[string]string{events.LabelManaged: "true", "app": name, "app.kubernetes.io/part-of": "fleet"},
			Annotations: map[string]string{"example.com/owner": "a team that likes to say who it is"}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: podLabels(name)},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: podLabels(name)}, Spec: podSpec(name, version)},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}}}}},
		},
	}
}

func podLabels(set string) map[string]string {
	return map[string]string{"app": set, "app.kubernetes.io/component": "etcd"}
}

func podSpec(set, version string) corev1.PodSpec {
	grace, token := int64(30), false
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace, AutomountServiceAccountToken: &token,
		Containers: []corev1.Container{{
			Name: "etcd", Image: image(version), Command: []string{"etcd"},
			Args: []string{"--name=$(POD_NAME)", "--data-dir=/var/lib/etcd/data", "--listen-client-urls=http://$(POD_IP):2379",
				"--advertise-client-urls=http://$(POD_NAME)." + set + ":2379", "--listen-peer-urls=http://$(POD_IP):2380",
				"--initial-advertise-peer-urls=http://$(POD_NAME)." + set + ":2380", "--initial-cluster-state=new"},
			Env:   []corev1.EnvVar{field("POD_NAME", "metadata.name"), field("POD_IP", "status.podIP")},
			Ports: []corev1.ContainerPort{{Name: "client", ContainerPort: 2379}, {Name: "peer", ContainerPort: 2380}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(2381)}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/etcd"}},
		}},
	}
}

func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// pod is what the controller makes of a set's template.
func pod(set *appsv1.StatefulSet, index int, version string) *corev1.Pod {
	labels := podLabels(set.Name)
	labels[events.PodRevisionLabel] = Revision(set.Name, version)
	labels["statefulset.kubernetes.io/pod-name"] = fmt.Sprintf("%s-%d", set.Name, index)
	labels["apps.kubernetes.io/pod-index"] = fmt.Sprint(index)
	spec := podSpec(set.Name, version)
	spec.NodeName = "nowhere" // no scheduler runs
	spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("data-%s-%d", set.Name, index)}}}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: fmt.Sprintf("%s-%d", set.Name, index), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}},
		Spec: spec,
	}
}

func running() corev1.PodStatus {
	now := metav1.Now()
	return corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "etcd", Ready: true, Image: image(OldVersion),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}}}
}
