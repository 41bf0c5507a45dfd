package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Write writes partition and annotations as the function does: under its field
// manager, and only if the set is still the one that was looked at.
func (f *Fleet) Write(ctx context.Context, seen *appsv1.StatefulSet, partition int, annotations map[string]any) error {
	return f.patch(ctx, seen.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": seen.ResourceVersion, "annotations": annotations},
		"spec":     map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": partition}}},
	}, events.FieldManager)
}

const partitionField = `"f:partition":{}`

func claim(set *appsv1.StatefulSet) int {
	return slices.IndexFunc(set.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == events.FieldManager && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(partitionField))
	})
}

// Claimed says that the function's field manager owns the partition.
func (f *Fleet) Claimed(set *appsv1.StatefulSet) bool { return claim(set) >= 0 }

// HandBack gives that ownership up.
func (f *Fleet) HandBack(ctx context.Context, set *appsv1.StatefulSet) error {
	at := claim(set)
	fields := map[string]any{}
	if err := json.Unmarshal(set.ManagedFields[at].FieldsV1.GetRawBytes(), &fields); err != nil {
		return fmt.Errorf("read managed fields: %w", err)
	}
	delete(fields, "f:spec") // nothing else of the spec is ever written
	body, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": set.ResourceVersion},
		{"op": "replace", "path": fmt.Sprintf("/metadata/managedFields/%d/fieldsV1", at), "value": fields},
	})
	if err != nil {
		return err
	}
	if _, err := f.client.AppsV1().StatefulSets(f.Namespace).Patch(ctx, set.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: events.FieldManager}); err != nil {
		return fmt.Errorf("hand back: %w", err)
	}
	return nil
}
