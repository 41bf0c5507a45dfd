package gitops

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// owned are the annotations that the owner writes; all others are the product's.
var owned = map[string]bool{events.AnnotationConfig: true, events.AnnotationRelease: true}

func (s *stage) kind() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}
}

// apply is one server-side apply with force.
func (s *stage) apply(ctx context.Context, manager string, set *appsv1.StatefulSet) error {
	body, err := json.Marshal(set)
	if err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return err
	}
	delete(object, "status")
	if body, err = json.Marshal(object); err != nil {
		return err
	}
	force := true
	_, err = shared.Client.AppsV1().StatefulSets(set.Namespace).Patch(ctx, set.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manager, Force: &force})
	if err != nil {
		return fmt.Errorf("apply as %s: %w", manager, err)
	}
	return nil
}

// changed waits until the controller has made a revision of the new template.
func (s *stage) changed() {
	s.Helper()
	s.until(formsWithin, "the change is not seen", func(v observer.View) bool {
		return v.Set.Observed == v.Set.Generation && v.Set.Update != v.Set.Annotations[events.AnnotationConvergedRevision]
	})
}
