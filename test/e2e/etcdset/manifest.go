package etcdset

import (
	"fmt"
	"os"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/access"
)

// EnvRepository is where etcd images come from on a cluster that is not ours.
const EnvRepository = "ETCDROLL_E2E_ETCD_REPOSITORY"

// Ports of a member.
const (
	ClientPort  = 2379
	peerPort    = 2380
	metricsPort = 2381
)

// Options say which set to make. The zero value of a field takes its default.
type Options struct {
	Namespace string
	Name      string // etcd
	Replicas  int    // 3
	Version   string // 3.6.16
	Pool      string // node pool by node selector; "" selects none
	Release   string // release token

	// Native leaves the set to the StatefulSet controller: no label, partition 0.
	Native bool
	// Config becomes config.yaml. Nil writes no ConfigMap.
	Config map[string]any

	// TLSSecret is mounted into the pods and makes clients and peers use TLS. It
	// has tls.crt, tls.key and ca.crt; "" is plain HTTP.
	TLSSecret string
	// Access is how to get at the members from outside.
	Access access.Access
	// Shape has the last word on the manifest.
	Shape func(*appsv1.StatefulSet)
}

// Quick is a configuration for tests: the same rules, less patience.
func Quick() map[string]any {
	return map[string]any{"cooldownSeconds": 1, "readyTimeoutSeconds": 60, "healthTimeoutSeconds": 30}
}

func (o Options) filled() Options {
	if o.Name == "" {
		o.Name = "etcd"
	}
	if o.Replicas == 0 {
		o.Replicas = 3
	}
	if o.Version == "" {
		o.Version = "3.6.16"
	}
	return o
}

// Image is the image of an etcd version.
func Image(version string) string {
	repository := os.Getenv(EnvRepository)
	if repository == "" {
		repository = "registry.local/etcd"
	}
	return repository + ":v" + version
}

func (o Options) labels() map[string]string { return map[string]string{"app": o.Name} }

func (o Options) service() *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: o.labels(),
			Ports: []corev1.ServicePort{{Name: "client", Port: ClientPort}, {Name: "peer", Port: peerPort}},
		},
	}
}

// statefulSet is the manifest as the owner writes it.
func (o Options) statefulSet() *appsv1.StatefulSet {
	replicas, partition := int32(o.Replicas), int32(o.Replicas)
	if o.Native {
		partition = 0
	}
	set := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, Annotations: map[string]string{}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: o.Name,
			Selector: &metav1.LabelSelector{MatchLabels: o.labels()},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: o.labels()},
				Spec:       o.podSpec(),
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{dataClaim()},
		},
	}
	if !o.Native {
		set.Labels = map[string]string{events.LabelManaged: "true"}
	}
	if o.Config != nil && !o.Native {
		set.Annotations[events.AnnotationConfig] = o.configName()
	}
	if o.Release != "" {
		set.Annotations[events.AnnotationRelease] = o.Release
	}
	if o.TLSSecret != "" {
		o.secure(&set.Spec.Template.Spec)
	}
	if o.Shape != nil {
		o.Shape(set)
	}
	return set
}

func dataClaim() corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func (o Options) configName() string { return o.Name + "-roll" }

func (o Options) podSpec() corev1.PodSpec {
	grace := int64(30)
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{
			Name: "etcd", Image: Image(o.Version), Command: []string{"etcd"}, Args: o.arguments(),
			Env: []corev1.EnvVar{field("POD_NAME", "metadata.name"), field("POD_IP", "status.podIP")},
			Ports: []corev1.ContainerPort{
				{Name: "client", ContainerPort: ClientPort}, {Name: "peer", ContainerPort: peerPort}, {Name: "metrics", ContainerPort: metricsPort}},
			ReadinessProbe: Probe(),
			VolumeMounts:   []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/etcd"}},
		}},
	}
	if o.Pool != "" {
		spec.NodeSelector = map[string]string{"pool": o.Pool}
	}
	return spec
}

// Probe says that the member serves reads. A probe that needed a quorum would
// keep a set under OrderedReady from ever forming; whether a member is well is
// for the gates to find out.
func Probe() *corev1.Probe {
	return &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 2, FailureThreshold: 3,
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/health?serializable=true", Port: intstr.FromInt32(metricsPort)}}}
}

func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func (o Options) arguments() []string {
	host := fmt.Sprintf("$(POD_NAME).%s.%s.svc", o.Name, o.Namespace)
	return []string{
		"--name=$(POD_NAME)", "--data-dir=/var/lib/etcd/data",
		fmt.Sprintf("--listen-client-urls=http://$(POD_IP):%d", ClientPort),
		fmt.Sprintf("--advertise-client-urls=http://%s:%d", host, ClientPort),
		fmt.Sprintf("--listen-peer-urls=http://$(POD_IP):%d", peerPort),
		fmt.Sprintf("--initial-advertise-peer-urls=http://%s:%d", host, peerPort),
		fmt.Sprintf("--listen-metrics-urls=http://$(POD_IP):%d", metricsPort),
		"--initial-cluster=" + o.initialCluster(), "--initial-cluster-token=" + o.Namespace, "--initial-cluster-state=new",
	}
}

func (o Options) initialCluster() string {
	var members []string
	for i := range o.Replicas {
		pod := fmt.Sprintf("%s-%d", o.Name, i)
		members = append(members, fmt.Sprintf("%s=http://%s.%s.%s.svc:%d", pod, pod, o.Name, o.Namespace, peerPort))
	}
	return strings.Join(members, ",")
}
