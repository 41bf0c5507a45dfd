package fn

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

func TestStatusSurvivesTheAnnotations(t *testing.T) {
	s := roll.Status{
		Phase: roll.PhaseHalted, ConvergedRevision: "a", ConvergedToken: "tok", HaltedRevision: "b", HaltID: "b-4",
		Reason: roll.ReasonNotReady, Message: "etcd-2 is not Ready",
	}
	if got := toStatus(statusAnnotations(s)); got != s {
		t.Errorf("got %+v", got)
	}
}

func TestPauseHoldsOnAnythingButAClearNo(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false, "": false, "True": true, "yes": true, "0": true} {
		if got := events.IsPaused(map[string]string{events.AnnotationPaused: value}); got != want {
			t.Errorf("paused: %q is taken for %t", value, got)
		}
	}
	if events.IsPaused(nil) {
		t.Error("a set without the annotation is paused")
	}
}

func TestET30_RecordSurvivesTheAnnotation(t *testing.T) {
	r := roll.Record{
		UID: "u", Seq: 4, Target: "b", Generation: 9, Started: noon, Cluster: 1<<63 + 1, Term: 7,
		Members: map[int]guard.ID{0: 1<<64 - 1}, Attempts: map[int]int{2: 1},
		Step: &roll.Step{Kind: roll.StepMove, Index: 2, From: 1, To: 2, Started: noon},
	}
	text, err := encodeRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, `"ffffffffffffffff"`) {
		t.Errorf("ids are not hex text: %s", text)
	}
	got, err := parseRecord(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnreadableRecordIsNoneAndSaysSo(t *testing.T) {
	for _, text := range []string{"{", `{"seq":"x"}`, `[]`, `{"seq":-1}`, `{"cluster":"zz"}`} {
		got, err := parseRecord(text)
		if err == nil || got.Seq != 0 || got.Step != nil {
			t.Errorf("%s: record %+v, error %v", text, got, err)
		}
	}
	if _, err := parseRecord(""); err != nil {
		t.Errorf("no record at all: %v", err)
	}
}

func TestRecordStaysWithinItsSize(t *testing.T) {
	r := roll.Record{UID: "u", Seq: 12, Target: "b", Term: 3, Attempts: map[int]int{1: 2}, Last: &roll.Receipt{Target: "a", Pods: map[int]roll.PodRecord{}}}
	for range 60 {
		r.Last.Overrides = append(r.Last.Overrides, "Headroom: "+strings.Repeat("because ", 20))
		r.Overrides = append(r.Overrides, "Headroom: "+strings.Repeat("because ", 20))
	}
	for range 400 {
		r.Recent = append(r.Recent, roll.Seen{Target: "etcd-" + strings.Repeat("x", 10), At: noon})
	}
	text, err := encodeRecord(r)
	if err != nil || len(text) > maxRecord {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	got, err := parseRecord(text)
	if err != nil || got.Seq != 12 || got.Term != 3 || got.Attempts[1] != 2 || len(got.Recent) < 20 {
		t.Errorf("what decides was cut: %+v, %v", got, err)
	}
}

func TestReleaseTokenThatNoWaitCouldCompareIsRefused(t *testing.T) {
	for token, fine := range map[string]bool{"": true, "4f2a": true, "v1.2+x": true, "a=b": false, "a\nb": false, strings.Repeat("x", 300): false} {
		if got := releaseProblem(token); (got == nil) != fine {
			t.Errorf("%q: %+v", token, got)
		}
	}
}

func TestOverridesAreReadStrictly(t *testing.T) {
	until := "2026-12-01T00:00:00Z"
	want := guard.Override{Gate: guard.Soaked, Revision: "etcd-b", Until: noon.Add(12 * time.Hour), Reason: "known, see ticket = 7"}
	for _, text := range []string{
		"gate=Soaked,revision=etcd-b,until=" + until + ",reason=known, see ticket = 7",
		`[{"gate":"Soaked","revision":"etcd-b","until":"` + until + `","reason":"known, see ticket = 7"}]`,
	} {
		got, problem := toOverrides(text)
		if problem != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, %+v", text, got, problem)
		}
	}
	for _, c := range []struct{ text, names string }{
		{"gate=Soaked,revision=b,until=tomorrow,reason=r", "tomorrow"},
		{"gate=Soaked,revision=b,until=" + until, "reason is missing"},
		{"gate=Soaked,until=" + until + ",reason=r", "revision is missing"},
		{"gate=Sneaked,revision=b,until=" + until + ",reason=r", "Sneaked"},
		{"gate=QuorumAfter,revision=b,until=" + until + ",reason=r", "hard"},
		{"gate=Soaked,gate=Headroom,revision=b,until=" + until + ",reason=r", "gate"},
		{"force=yes", "force"},
		{`[{"gate":"Soaked","force":true}]`, "force"},
		{`[{"gate":"Soaked"`, "list"},
		{`[] []`, "more than one"},
		{"true", "none of gate="},
	} {
		got, problem := toOverrides(c.text)
		if problem == nil || len(got) != 0 || problem.Reason != roll.ReasonConfigInvalid ||
			!strings.Contains(problem.Message, c.names) || !strings.Contains(problem.Message, events.AnnotationOverride) {
			t.Errorf("%s: %+v, %+v", c.text, got, problem)
		}
	}
	if got, problem := toOverrides(" "); got != nil || problem != nil {
		t.Errorf("nothing: %v, %v", got, problem)
	}
}

func TestNospaceAloneMayBeOverridden(t *testing.T) {
	got, problem := toOverrides("gate=AlarmsAbsent,revision=b,until=2026-12-01T00:00:00Z,reason=r")
	if problem != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, problem)
	}
}

func fieldsEntry(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

const claim = `{"f:spec":{"f:updateStrategy":{"f:rollingUpdate":{"f:partition":{}}}}}`

func TestPartitionOwnersAreReadFromManagedFields(t *testing.T) {
	ours, others := partitionOwners([]metav1.ManagedFieldsEntry{
		fieldsEntry("pulumi", claim), fieldsEntry(events.FieldManager, claim), fieldsEntry("argocd", claim), fieldsEntry("argocd", claim),
		fieldsEntry("kube-controller-manager", `{"f:status":{"f:replicas":{}}}`), {Manager: "broken", FieldsV1: metav1.NewFieldsV1("{")}, {Manager: "empty"},
	})
	if !ours || !cmp.Equal(others, []string{"argocd", "pulumi"}) {
		t.Errorf("ours %t, others %v", ours, others)
	}
	if ours, others := partitionOwners(nil); ours || others != nil {
		t.Errorf("nobody: %t, %v", ours, others)
	}
}
