package config

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/access"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

const secretName = "etcd-certs"

// visit makes a managed set and has the function look at it once. It gives the
// answer and the function's log. The answer does not wait for the Events; the
// line that ends the visit in the log comes after them.
func visit(t *testing.T, p *product.Place) (events.Answer, string) {
	t.Helper()
	fakeSet(t, p.Namespace)
	function := started(t)(p.Function())
	sender, err := events.NewSender(events.SinkConfig{URL: function.URL, Try: 30 * time.Second})
	must(t, err)
	target := events.Target{Namespace: p.Namespace, Name: "etcd"}
	a, err := sender.Send(t.Context(), events.NewDiverged(target, events.Diverged{Reason: "test"}, time.Now()), true)
	must(t, err)
	var log string
	eventually(t, "the log does not tell of the visit", func() bool {
		log = read(t, function.Log())
		return strings.Contains(log, `"msg":"visit"`)
	})
	return a, log
}

// fakeSet is a managed set that has all that the function reads: a ConfigMap, a
// Secret that its configuration names, and one outdated pod, which runs no etcd.
// So it is blocked, and that is written.
func fakeSet(t *testing.T, ns string) {
	t.Helper()
	authority, err := access.NewAuthority("etcd CA")
	must(t, err)
	pair, err := authority.Issue("etcd", "etcd-0.etcd")
	must(t, err)
	core := shared.Client.CoreV1()
	_, err = core.Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName},
		Data: map[string][]byte{"ca.crt": authority.PEM, "tls.crt": pair.Cert, "tls.key": pair.Key}}, metav1.CreateOptions{})
	must(t, err)
	_, err = core.ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "etcd-roll"},
		Data: map[string]string{"config.yaml": "tls: {enabled: true, secretName: " + secretName + "}\n"}}, metav1.CreateOptions{})
	must(t, err)
	set := plainSet("etcd", 1, 1)
	set.Annotations = map[string]string{events.AnnotationConfig: "etcd-roll"}
	sets := shared.Client.AppsV1().StatefulSets(ns)
	_, err = sets.Create(t.Context(), set, metav1.CreateOptions{})
	must(t, err)
	seen := func(current bool) func() bool {
		return func() bool {
			s, err := sets.Get(t.Context(), "etcd", metav1.GetOptions{})
			return err == nil && s.Status.ObservedGeneration == s.Generation && s.Status.ReadyReplicas == 1 &&
				(s.Status.UpdateRevision == s.Status.CurrentRevision) == current
		}
	}
	eventually(t, "the set has no pod", seen(true))
	_, err = sets.Patch(t.Context(), "etcd", types.MergePatchType,
		[]byte(`{"spec":{"template":{"metadata":{"annotations":{"changed":"true"}}}}}`), metav1.PatchOptions{})
	must(t, err)
	eventually(t, "the pod is not outdated", seen(false))
}

// plainSet is a managed set whose pods only wait.
func plainSet(name string, replicas, partition int32) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{events.LabelManaged: "true"}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "etcd", Image: "registry.local/pause:dev", Args: []string{"--data-dir=/var/lib/etcd"}}}},
			},
		},
	}
}
