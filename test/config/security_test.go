package config

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/test/config/overlay"
)

// knative says that an object is of a kind that only Knative knows.
func knative(object *unstructured.Unstructured) bool {
	return strings.Contains(object.GetAPIVersion(), "knative.dev/")
}

// restricted is a namespace that enforces the strictest Pod Security standard.
func restricted(t *testing.T) string {
	t.Helper()
	ns := namespace(t)
	_, err := shared.Client.CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`), metav1.PatchOptions{})
	must(t, err)
	return ns
}

// The pods of every topology and of the sample are admitted where the
// restricted standard is enforced, and each line of their security contexts is
// needed for that.
func TestPodsPassTheRestrictedStandard(t *testing.T) {
	ns := restricted(t)
	for _, folder := range []string{"direct", "knative", "broker", "sample"} {
		objects, err := overlay.Render(t.Context(), shared, overlay.Overlay{Namespace: ns, Resources: []string{folder}})
		must(t, err)
		found := 0
		for _, object := range objects {
			template := podTemplate(t, object)
			if template == nil {
				continue
			}
			found++
			name := folder + " " + object.GetKind() + " " + object.GetName()
			if err := admit(t, ns, template); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for loosened, loosen := range loosenings {
				pod := template.DeepCopy()
				loosen(pod)
				if err := admit(t, ns, pod); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "PodSecurity") {
					t.Errorf("%s with %s: %v", name, loosened, err)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s has no pods", folder)
		}
	}
}

var loosenings = map[string]func(*corev1.PodSpec){
	"the right to run as root": func(p *corev1.PodSpec) {
		if p.SecurityContext != nil {
			p.SecurityContext.RunAsNonRoot = nil
		}
		p.Containers[0].SecurityContext.RunAsNonRoot = nil
	},
	"privilege escalation": func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil },
	"capabilities":         func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.Capabilities = nil },
	"any system call": func(p *corev1.PodSpec) {
		if p.SecurityContext != nil {
			p.SecurityContext.SeccompProfile = nil
		}
		p.Containers[0].SecurityContext.SeccompProfile = nil
	},
}

// podTemplate is nil for what has no pods. A Knative Service's template is a pod
// spec with few more fields, to which Knative adds its own container.
func podTemplate(t *testing.T, object *unstructured.Unstructured) *corev1.PodSpec {
	t.Helper()
	var template corev1.PodTemplateSpec
	switch object.GetKind() {
	case "Deployment":
		d, err := overlay.Into[appsv1.Deployment](object)
		must(t, err)
		template = d.Spec.Template
	case "StatefulSet":
		s, err := overlay.Into[appsv1.StatefulSet](object)
		must(t, err)
		template = s.Spec.Template
		template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: "data"})
	case "Service":
		if !knative(object) {
			return nil
		}
		spec, _, err := unstructured.NestedMap(object.Object, "spec", "template", "spec")
		must(t, err)
		delete(spec, "containerConcurrency")
		delete(spec, "timeoutSeconds")
		must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &template.Spec))
		template.Spec.Containers[0].Name = "user-container"
		template.Spec.Containers[0].ReadinessProbe = nil // Knative's own container probes, on a port that Knative fills in
	default:
		return nil
	}
	if root := template.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem; root == nil || !*root {
		t.Errorf("%s %s can write to its root file system", object.GetKind(), object.GetName())
	}
	return &template.Spec
}

func admit(t *testing.T, ns string, spec *corev1.PodSpec) error {
	t.Helper()
	spec = spec.DeepCopy()
	spec.ServiceAccountName = "" // whether it exists is not the question here
	_, err := shared.Client.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "asked-"}, Spec: *spec}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
