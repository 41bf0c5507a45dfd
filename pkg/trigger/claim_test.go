package trigger

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
)

func TestPU07_AClaimOnPartitionIsSeenThroughTheCache(t *testing.T) {
	const claim = `{"f:spec":{"f:updateStrategy":{"f:rollingUpdate":{"f:partition":{}}}}}`
	for name, c := range map[string]struct {
		manager, fields string
		want            bool
	}{
		"ours":              {events.FieldManager, claim, true},
		"the owner's":       {"pulumi", claim, false},
		"ours, other field": {events.FieldManager, `{"f:metadata":{"f:annotations":{}}}`, false},
		"unreadable":        {events.FieldManager, `[`, false},
	} {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kube-controller-manager", FieldsV1: metav1.NewFieldsV1(claim)},
			{Manager: c.manager, FieldsV1: metav1.NewFieldsV1(c.fields)},
		}}}
		stripped, err := stripSet(set)
		if err != nil {
			t.Fatal(err)
		}
		if got := stripped.view.Claimed; got != c.want {
			t.Errorf("%s: claimed %v, want %v", name, got, c.want)
		}
	}
}
