package fn

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// partitionPath is how fieldsV1 names spec.updateStrategy.rollingUpdate.partition.
var partitionPath = []string{"f:spec", "f:updateStrategy", "f:rollingUpdate", "f:partition"}

// partitionOwners says whether our field manager claims the partition, and
// which others do, sorted.
func partitionOwners(entries []metav1.ManagedFieldsEntry) (ours bool, others []string) {
	for _, e := range entries {
		if _, claims := claimsOf(e, partitionPath); !claims {
			continue
		}
		if e.Manager == events.FieldManager {
			ours = true
		} else if !slices.Contains(others, e.Manager) {
			others = append(others, oneLine(e.Manager, 80))
		}
	}
	slices.Sort(others)
	return ours, others
}

// claimsOf reads an entry's fields and says whether path is among them.
func claimsOf(e metav1.ManagedFieldsEntry, path []string) (fields map[string]any, claims bool) {
	if e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
		return nil, false
	}
	at := fields
	for _, step := range path {
		next, ok := at[step].(map[string]any)
		if !ok {
			return fields, false
		}
		at = next
	}
	return fields, true
}

// withoutClaim removes path from the fields, and parents that hold nothing
// else any more.
func withoutClaim(fields map[string]any, path []string) {
	if len(path) == 1 {
		delete(fields, path[0])
		return
	}
	inner, ok := fields[path[0]].(map[string]any)
	if !ok {
		return
	}
	withoutClaim(inner, path[1:])
	if len(inner) == 0 {
		delete(fields, path[0])
	}
}
