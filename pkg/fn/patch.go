package fn

import (
	"encoding/json"
	"fmt"

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
