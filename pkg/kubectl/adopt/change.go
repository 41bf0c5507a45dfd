package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
)

// change is what adopting does to a set: absolute values, so that doing it
// twice is doing it once. The partition only ever rises.
type change struct {
	label       bool
	partition   *int32 // nil: locked already, or no lock
	annotations map[string]string
	create      *corev1.ConfigMap
}

func (o options) change(set *appsv1.StatefulSet) (*change, error) {
	ch := &change{label: set.Labels[events.LabelManaged] != "true", annotations: map[string]string{}}
	if shape := fn.Read(set, nil, o.now()).Set; shape.Open() {
		locked := int32(shape.Replicas)
		ch.partition = &locked
	}
	name := o.config
	if o.configFile != "" {
		text, err := os.ReadFile(o.configFile)
		if err != nil {
			return nil, fmt.Errorf("--config-file: %w", err)
		}
		if name == "" {
			name = set.Name + "-etcdroll"
		}
		ch.create = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name}, Data: map[string]string{fn.ConfigKey: string(text)}}
	}
	if name != "" && set.Annotations[events.AnnotationConfig] != name {
		ch.annotations[events.AnnotationConfig] = name
	}
	if o.paused && set.Annotations[events.AnnotationPaused] != "true" {
		ch.annotations[events.AnnotationPaused] = "true"
	}
	return ch, nil
}

func (c *change) empty() bool {
	return !c.label && c.partition == nil && len(c.annotations) == 0 && c.create == nil
}

// onto is a copy of the set with the change.
func (c *change) onto(set *appsv1.StatefulSet) *appsv1.StatefulSet {
	set = set.DeepCopy()
	if set.Labels == nil {
		set.Labels = map[string]string{}
	}
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	set.Labels[events.LabelManaged] = "true"
	for k, v := range c.annotations {
		set.Annotations[k] = v
	}
	if c.partition != nil {
		if set.Spec.UpdateStrategy.RollingUpdate == nil {
			set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
		set.Spec.UpdateStrategy.RollingUpdate.Partition = c.partition
	}
	return set
}

// words are the changes, one a line, with what was there before.
func (c *change) words(set *appsv1.StatefulSet) []string {
	var list []string
	if c.create != nil {
		list = append(list, fmt.Sprintf("ConfigMap %s with key %s", c.create.Name, fn.ConfigKey))
	}
	if c.label {
		list = append(list, fmt.Sprintf("label %s: %q -> \"true\"", events.LabelManaged, set.Labels[events.LabelManaged]))
	}
	for _, key := range []string{events.AnnotationConfig, events.AnnotationPaused} {
		if value, has := c.annotations[key]; has {
			list = append(list, fmt.Sprintf("annotation %s: %q -> %q", key, set.Annotations[key], value))
		}
	}
	if c.partition != nil {
		list = append(list, fmt.Sprintf("spec.updateStrategy.rollingUpdate.partition: %d -> %d (locked)", fn.Read(set, nil, set.CreationTimestamp.Time).Set.Partition, *c.partition))
	}
	return list
}

// apply makes the change in one write that fails if the set has changed since
// it was looked at: a lock must not meet a scaling unseen.
func (c *change) apply(ctx context.Context, cluster *access.Cluster, set *appsv1.StatefulSet, dryRun []string) error {
	if c.create != nil {
		if err := c.createConfig(ctx, cluster, dryRun); err != nil {
			return err
		}
	}
	meta := map[string]any{"resourceVersion": set.ResourceVersion, "uid": set.UID, "labels": map[string]string{events.LabelManaged: "true"}}
	if len(c.annotations) > 0 {
		meta["annotations"] = c.annotations
	}
	body := map[string]any{"metadata": meta}
	if c.partition != nil {
		body["spec"] = map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": *c.partition}}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	api := cluster.Client.AppsV1().StatefulSets(set.Namespace)
	after, err := api.Patch(ctx, set.Name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: access.FieldManager, DryRun: dryRun})
	if apierrors.IsConflict(err) {
		return fmt.Errorf("statefulset %s/%s has changed while it was looked at: run the command again", set.Namespace, set.Name)
	}
	if err != nil || len(dryRun) > 0 {
		return access.Remedied(fmt.Sprintf("patch statefulset %s/%s", set.Namespace, set.Name), err)
	}
	return handBack(ctx, cluster, after)
}

// handBack gives up our claim on the partition, so that whoever owns the
// manifest can apply it without force. Losing a race here leaves a claim that
// a later adopt can give up.
func handBack(ctx context.Context, cluster *access.Cluster, set *appsv1.StatefulSet) error {
	for {
		patch, claims, err := fn.WithoutPartition(set, access.FieldManager)
		if err != nil || !claims {
			return err
		}
		api := cluster.Client.AppsV1().StatefulSets(set.Namespace)
		_, err = api.Patch(ctx, set.Name, patch.Type, patch.Body, metav1.PatchOptions{FieldManager: access.FieldManager})
		if !apierrors.IsConflict(err) {
			return access.Remedied(fmt.Sprintf("give up the claim on partition of statefulset %s/%s", set.Namespace, set.Name), err)
		}
		if set, err = cluster.Set(ctx, set.Name); err != nil {
			return err
		}
	}
}

func (c *change) createConfig(ctx context.Context, cluster *access.Cluster, dryRun []string) error {
	api := cluster.Client.CoreV1().ConfigMaps(c.create.Namespace)
	_, err := api.Create(ctx, c.create, metav1.CreateOptions{FieldManager: access.FieldManager, DryRun: dryRun})
	if !apierrors.IsAlreadyExists(err) {
		return access.Remedied("create configmap "+c.create.Name, err)
	}
	there, err := api.Get(ctx, c.create.Name, metav1.GetOptions{})
	if err != nil {
		return access.Remedied("get configmap "+c.create.Name, err)
	}
	if there.Data[fn.ConfigKey] != c.create.Data[fn.ConfigKey] {
		return fmt.Errorf("--config-file: ConfigMap %s exists with another %s: edit that one and name it with --config, or give another name with --config", c.create.Name, fn.ConfigKey)
	}
	return nil
}
