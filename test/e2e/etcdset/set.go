package etcdset

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// Owner is the field manager of the one who owns the manifests.
const Owner = "owner"

// Set is one etcd cluster as its owner sees it.
type Set struct {
	Options
	Client kubernetes.Interface
	// Edited is the generation of the set after the last Edit, or 0.
	Edited  int64
	desired *appsv1.StatefulSet
}

// Create applies the manifests. It does not wait for anything.
func Create(ctx context.Context, client kubernetes.Interface, o Options) (*Set, error) {
	o = o.filled()
	s := &Set{Options: o, Client: client, desired: o.statefulSet()}
	if o.Config != nil && !o.Native {
		if err := s.createConfig(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := client.CoreV1().Services(o.Namespace).Create(ctx, o.service(), metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create service: %w", err)
	}
	return s, s.Apply(ctx, func(*appsv1.StatefulSet) {})
}

func (s *Set) createConfig(ctx context.Context) error {
	text, err := yaml.Marshal(s.Config)
	if err != nil {
		return err
	}
	_, err = s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.configName()},
		Data:       map[string]string{"config.yaml": string(text)},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create configuration: %w", err)
	}
	return nil
}

// Apply changes the owner's manifest and applies it server-side without force,
// as Pulumi and kubectl do.
func (s *Set) Apply(ctx context.Context, change func(*appsv1.StatefulSet)) error {
	next := s.desired.DeepCopy()
	change(next)
	body, err := json.Marshal(next)
	if err != nil {
		return err
	}
	_, err = s.Client.AppsV1().StatefulSets(s.Namespace).Patch(ctx, s.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: Owner})
	if err != nil {
		return fmt.Errorf("apply %s/%s: %w", s.Namespace, s.Name, err)
	}
	s.desired = next
	return nil
}

// Edit changes the template alone, as `kubectl edit` does. Unlike Apply it says
// nothing of partition, so it works while the roll has the set open.
func (s *Set) Edit(ctx context.Context, change func(*corev1.PodTemplateSpec)) error {
	next := s.desired.DeepCopy()
	change(&next.Spec.Template)
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"template": next.Spec.Template}})
	if err != nil {
		return err
	}
	edited, err := s.Client.AppsV1().StatefulSets(s.Namespace).Patch(ctx, s.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{FieldManager: "editor"})
	if err != nil {
		return fmt.Errorf("edit %s/%s: %w", s.Namespace, s.Name, err)
	}
	s.desired, s.Edited = next, edited.Generation
	return nil
}

// ToVersion is a template change to another etcd version.
func ToVersion(version string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = Image(version) }
}

// ToImage is a template change to an image by its full name.
func ToImage(image string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = image }
}

// ToPool is a template change to another node pool.
func ToPool(pool string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Spec.NodeSelector = map[string]string{"pool": pool} }
}

// WithEnv is a template change that sets an environment variable etcd ignores.
func WithEnv(name, value string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		env := &t.Spec.Containers[0].Env
		for i := range *env {
			if (*env)[i].Name == name {
				(*env)[i].Value = value
				return
			}
		}
		*env = append(*env, corev1.EnvVar{Name: name, Value: value})
	}
}

// Template makes a manifest change of a template change.
func Template(change func(*corev1.PodTemplateSpec)) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { change(&s.Spec.Template) }
}

// PodName is the name of the pod with this index.
func (s *Set) PodName(index int) string { return fmt.Sprintf("%s-%d", s.Name, index) }
