package fn

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

func body(t *testing.T, p Patch) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(p.Body, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCG02_WriteCarriesWhatItWasDecidedFrom(t *testing.T) {
	w := newWorld(3).outdated()
	post(t, handler(w), diverged())
	p := w.patches[0]
	if p.Type != types.MergePatchType {
		t.Fatalf("a %s", p.Type)
	}
	m := body(t, p)
	meta := m["metadata"].(map[string]any)
	if meta["resourceVersion"] != "10" || meta["uid"] != string(setUID) {
		t.Errorf("preconditions %v, %v", meta["resourceVersion"], meta["uid"])
	}
	want := map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": 2.0}}}
	if diff := cmp.Diff(want, m["spec"]); diff != "" {
		t.Error("more than an absolute partition: ", diff)
	}
	notes := meta["annotations"].(map[string]any)
	for _, key := range []string{events.AnnotationConverged, events.AnnotationConvergedRevision, events.AnnotationHaltID, events.AnnotationHaltedRevision} {
		if value, has := notes[key]; !has || value != nil {
			t.Errorf("%s is not removed: %v", key, value)
		}
	}
	for key := range notes {
		if !strings.HasPrefix(key, events.Prefix) {
			t.Errorf("annotation %s is not ours", key)
		}
	}
	if _, has := notes[events.AnnotationResume]; has {
		t.Error("the user's resume annotation is touched although nothing was resumed")
	}
}

func TestHandBackDropsOurClaimAndNothingElse(t *testing.T) {
	mine := `{"f:metadata":{"f:annotations":{"f:etcdroll.dev/phase":{}}},"f:spec":{"f:updateStrategy":{"f:rollingUpdate":{"f:partition":{}}}}}`
	beside := `{"f:spec":{"f:replicas":{},"f:updateStrategy":{"f:rollingUpdate":{"f:partition":{},"f:maxUnavailable":{}}}}}`
	set := etcdSet(3)
	set.Annotations = map[string]string{"theirs": "kept", events.AnnotationPhase: "Rolling", events.AnnotationReason: "x"}
	set.ManagedFields = []metav1.ManagedFieldsEntry{fieldsEntry("kubectl", claim), fieldsEntry(events.FieldManager, mine), fieldsEntry(events.FieldManager, beside)}
	p, err := toPatch(set, &roll.Write{HandBack: true, Record: roll.Record{Seq: 4}, Status: roll.Status{Phase: roll.PhaseConverged}})
	if err != nil || p.Type != types.JSONPatchType {
		t.Fatal(p.Type, err)
	}
	w := newWorld(3)
	w.set = set
	if err := w.PatchSet(t.Context(), "db", "etcd", p); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range w.set.ManagedFields {
		left = append(left, e.FieldsV1.GetRawString())
	}
	want := []string{claim, `{"f:metadata":{"f:annotations":{"f:etcdroll.dev/phase":{}}}}`, `{"f:spec":{"f:replicas":{},"f:updateStrategy":{"f:rollingUpdate":{"f:maxUnavailable":{}}}}}`}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Error(diff)
	}
	if w.set.Annotations["theirs"] != "kept" || w.set.Annotations[events.AnnotationPhase] != "Converged" || w.set.Annotations[events.AnnotationReason] != "" {
		t.Errorf("annotations %v", w.set.Annotations)
	}
	if err := w.PatchSet(t.Context(), "db", "etcd", p); !apierrors.IsConflict(err) {
		t.Errorf("made from an older set: %v", err)
	}
}

func TestResumeAnnotationThatWasObeyedIsRemoved(t *testing.T) {
	set := etcdSet(3)
	p, err := toPatch(set, &roll.Write{ClearResume: true})
	if err != nil {
		t.Fatal(err)
	}
	notes := body(t, p)["metadata"].(map[string]any)["annotations"].(map[string]any)
	if value, has := notes[events.AnnotationResume]; !has || value != nil {
		t.Errorf("resume: %v", value)
	}
}

func TestSetThatWasReplacedMeanwhileIsAConflict(t *testing.T) {
	w := newWorld(3).outdated()
	w.fails["patch set"] = []error{notFound("statefulsets", "etcd"), apierrors.NewConflict(schema.GroupResource{}, "etcd", errors.New("x"))}
	post(t, handler(w), diverged())
	if w.count("get set") != 3 || len(w.patches) != 1 {
		t.Errorf("calls %v", w.calls)
	}
}
