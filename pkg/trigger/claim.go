package trigger

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// ours are the managed fields of our own field manager; nobody else's matter here.
func ours(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager != events.FieldManager
	})
}

// claimsPartition says that our field manager owns the partition. After a roll the function gives it back, so that
// the owner's next apply meets no conflict. If it died before that, nothing else in the set would tell.
func claimsPartition(entries []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(ours(entries), func(e metav1.ManagedFieldsEntry) bool {
		var fields struct {
			Spec struct {
				Strategy struct {
					Rolling struct {
						Partition *struct{} `json:"f:partition"`
					} `json:"f:rollingUpdate"`
				} `json:"f:updateStrategy"`
			} `json:"f:spec"`
		}
		return e.FieldsV1 != nil && json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) == nil && fields.Spec.Strategy.Rolling.Partition != nil
	})
}
