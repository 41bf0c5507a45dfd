package fn

import (
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// operation is one line of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// WithoutPartition is the write by which another field manager of this project
// gives up its claim on the partition, as the function does after a roll: the
// value stays, and the owner of the set can apply another without force. False
// when the manager claims nothing.
func WithoutPartition(set *appsv1.StatefulSet, manager string) (Patch, bool, error) {
	operations, claims := giveUp(set, manager)
	patch, err := jsonPatch(operations)
	return patch, claims, err
}

// handBackPatch writes the annotations and gives up our claim on the partition,
// in one request: the mark that others wait for never stands beside the claim.
func handBackPatch(set *appsv1.StatefulSet, notes map[string]any) (Patch, error) {
	patch, _ := giveUp(set, events.FieldManager)
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
	patch = append(patch, operation{"add", "/metadata/annotations", annotations}) // whole, there may be none yet
	return jsonPatch(patch)
}

// giveUp removes a manager's claim on the partition, and says whether there was
// one. managedFields is a list without keys, so it takes a JSON patch. Setting
// resourceVersion makes it fail as a conflict like any other write; a "test"
// would fail as a bad request.
func giveUp(set *appsv1.StatefulSet, manager string) (patch []operation, claims bool) {
	patch = []operation{
		{"replace", "/metadata/resourceVersion", set.ResourceVersion},
		{"replace", "/metadata/uid", set.UID},
	}
	for i, entry := range set.ManagedFields {
		fields, has := claimsOf(entry, partitionPath)
		if entry.Manager != manager || !has {
			continue
		}
		withoutClaim(fields, partitionPath)
		patch = append(patch, operation{"replace", "/metadata/managedFields/" + strconv.Itoa(i) + "/fieldsV1", fields})
		claims = true
	}
	return patch, claims
}

func jsonPatch(operations []operation) (Patch, error) {
	text, err := json.Marshal(operations)
	if err != nil {
		return Patch{}, fmt.Errorf("encode patch: %w", err)
	}
	return Patch{types.JSONPatchType, text}, nil
}
