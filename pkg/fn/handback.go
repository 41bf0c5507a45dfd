package fn

import (
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WithoutPartition is the write by which another field manager of this project
// gives up its claim on the partition, as the function does after a roll: the
// value stays, and the owner of the set can apply another without force. False
// when the manager claims nothing.
func WithoutPartition(set *appsv1.StatefulSet, manager string) (Patch, bool, error) {
	patch := []operation{{"replace", "/metadata/resourceVersion", set.ResourceVersion}, {"replace", "/metadata/uid", set.UID}}
	fixed := len(patch)
	for i, entry := range set.ManagedFields {
		fields, claims := claimsOf(entry, partitionPath)
		if entry.Manager != manager || !claims {
			continue
		}
		withoutClaim(fields, partitionPath)
		patch = append(patch, operation{"replace", "/metadata/managedFields/" + strconv.Itoa(i) + "/fieldsV1", fields})
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return Patch{}, false, fmt.Errorf("encode patch: %w", err)
	}
	return Patch{types.JSONPatchType, text}, len(patch) > fixed, nil
}
