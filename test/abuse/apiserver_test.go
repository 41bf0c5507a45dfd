package abuse

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
)

const (
	haltID   = "halt-7"
	password = "correct horse battery staple"
)

// apiServer answers for one halted set, db/etcd, and one that is not opted in,
// db/other. A halted set is where an event could do the most by itself: the
// right resume starts the roll again.
type apiServer struct {
	*httptest.Server
	mu     sync.Mutex
	writes []string
	reads  map[string]int
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{reads: map[string]int{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodGet {
		a.writes = append(a.writes, r.Method+" "+r.URL.Path)
		w.WriteHeader(http.StatusConflict) // nothing changes, and whoever writes is seen
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
		return
	}
	a.reads[r.URL.Path]++
	object := objects[r.URL.Path]
	if r.URL.Path == "/version" {
		object = map[string]string{"gitVersion": "v1.37.2"}
	}
	if object == nil {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		return
	}
	_ = json.NewEncoder(w).Encode(object)
}

func (a *apiServer) written() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.writes...)
}

// strangePaths are those that were read and belong to neither of the two sets.
func (a *apiServer) strangePaths() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var strange []string
	for path := range a.reads {
		if objects[path] == nil && path != "/version" && !strings.HasPrefix(path, "/apis/apps/v1/namespaces/db/statefulsets/") {
			strange = append(strange, path)
		}
	}
	return strange
}

var objects = map[string]any{
	"/apis/apps/v1/namespaces/db/statefulsets/etcd":  set("etcd", true),
	"/apis/apps/v1/namespaces/db/statefulsets/other": set("other", false),
	"/api/v1/namespaces/db/pods/etcd-0":              pod(0),
	"/api/v1/namespaces/db/pods/etcd-1":              pod(1),
	"/api/v1/namespaces/db/pods/etcd-2":              pod(2),
	"/api/v1/namespaces/db/configmaps/etcd-settings": &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "etcd-settings"},
		Data: map[string]string{"config.yaml": "auth:\n  secretName: etcd-auth\n"},
	},
	"/api/v1/namespaces/db/secrets/etcd-auth": &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "etcd-auth"},
		Data: map[string][]byte{"username": []byte("roller"), "password": []byte(password)},
	},
}

func set(name string, managed bool) *appsv1.StatefulSet {
	three := int32(3)
	s := &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "db", Name: name, UID: "uid", ResourceVersion: "10", Generation: 3,
			Annotations: map[string]string{
				events.AnnotationConfig: "etcd-settings", events.AnnotationPhase: events.PhaseHalted, events.AnnotationReason: "NotReady",
				events.AnnotationHaltID: haltID, events.AnnotationHaltedRevision: "etcd-b",
				events.AnnotationRollout: `{"uid":"uid","seq":9,"target":"etcd-b","generation":3}`,
			},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &three, ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type:          appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &three},
			},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}, Spec: podSpec()},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 3, Replicas: 3, ReadyReplicas: 3, CurrentRevision: "etcd-a", UpdateRevision: "etcd-b"},
	}
	if managed {
		s.Labels = map[string]string{events.LabelManaged: "true"}
	}
	return s
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "etcd", Image: "registry.example/etcd:v3.6.16", Command: []string{"etcd"},
		Args:         []string{"--data-dir=/data/etcd", "--listen-client-urls=http://0.0.0.0:2379"},
		Ports:        []corev1.ContainerPort{{Name: "client", ContainerPort: 2379}},
		VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
	}}}
}

func pod(i int) *corev1.Pod {
	yes := true
	up := metav1.NewTime(time.Now().Add(-time.Hour))
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "db", Name: fmt.Sprintf("etcd-%d", i), UID: "pod", ResourceVersion: "7", CreationTimestamp: up,
			Labels:          map[string]string{"app": "etcd", events.PodRevisionLabel: "etcd-a"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "etcd", UID: "uid", Controller: &yes}},
		},
		Spec: podSpec(),
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "127.0.0.1",
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: up}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "etcd", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: up}}}},
		},
	}
}
