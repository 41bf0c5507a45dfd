package fn

import (
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// toPatch turns the write of a decision into one request.
//
// Invariant: it carries the resourceVersion and UID of the set the decision
// was made from, so it fails if anything about the set has changed since, and
// every value in it is absolute.
func toPatch(set *appsv1.StatefulSet, w *roll.Write) (Patch, error) {
	notes, err := annotationsOf(w)
	if err != nil {
		return Patch{}, err
	}
	if w.HandBack {
		return handBackPatch(set, notes)
	}
	body := map[string]any{"metadata": map[string]any{
		"resourceVersion": set.ResourceVersion,
		"uid":             set.UID,
		"annotations":     notes,
	}}
	if w.SetPartition {
		body["spec"] = map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": w.Partition}}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return Patch{}, fmt.Errorf("encode patch: %w", err)
	}
	return Patch{types.MergePatchType, text}, nil
}

// annotationsOf is every annotation of ours; nil removes one. They are
// written as a whole, so that none outlives what it spoke about.
func annotationsOf(w *roll.Write) (map[string]any, error) {
	record, err := encodeRecord(w.Record)
	if err != nil {
		return nil, err
	}
	notes := map[string]any{events.AnnotationRollout: record}
	for name, value := range statusAnnotations(w.Status) {
		notes[name] = value
		if value == "" {
			notes[name] = nil
		}
	}
	if w.ClearResume {
		notes[events.AnnotationResume] = nil
	}
	return notes, nil
}

// operation is one line of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// handBackPatch gives up our claim on the partition. managedFields is a list
// without keys, so it takes a JSON patch. Setting resourceVersion makes it fail
// as a conflict like any other write; a "test" would fail as a bad request. The
// annotations are there in any case: they were written when the set converged.
func handBackPatch(set *appsv1.StatefulSet, notes map[string]any) (Patch, error) {
	patch := []operation{
		{"replace", "/metadata/resourceVersion", set.ResourceVersion},
		{"replace", "/metadata/uid", set.UID},
	}
	for i, entry := range set.ManagedFields {
		fields, claims := claimsOf(entry, partitionPath)
		if entry.Manager != events.FieldManager || !claims {
			continue
		}
		withoutClaim(fields, partitionPath)
		patch = append(patch, operation{"replace", "/metadata/managedFields/" + strconv.Itoa(i) + "/fieldsV1", fields})
	}
	annotations := map[string]string{}
	for name, value := range set.Annotations {
		annotations[name] = value
	}
	for name, value := range notes {
		if text, has := value.(string); has {
			annotations[name] = text
		} else {
			delete(annotations, name)
		}
	}
	patch = append(patch, operation{"add", "/metadata/annotations", annotations})
	text, err := json.Marshal(patch)
	if err != nil {
		return Patch{}, fmt.Errorf("encode patch: %w", err)
	}
	return Patch{types.JSONPatchType, text}, nil
}
