// Package engines holds the recipes of config/gitops to the engines that the
// tools evaluate them with: Argo CD's Lua, Flux's CEL and Helm's templates.
package engines

import (
	"fmt"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type variant struct {
	name string
	set  *unstructured.Unstructured
	argo string
	flux status.Status
}

// variants are states a moment beside the recorded ones.
func variants(t *testing.T) []variant {
	all := recorded(t)
	v := func(name, of string, argo string, flux status.Status, change func(*unstructured.Unstructured)) variant {
		set := all[of].DeepCopy()
		change(set)
		return variant{name, set, argo, flux}
	}
	return []variant{
		v("a halt of an older template", "halted", "Progressing", status.InProgressStatus, target("etcd-other")),
		v("a halt that is being resumed", "halted", "Progressing", status.InProgressStatus, func(set *unstructured.Unstructured) {
			note("etcdroll.dev/resume", set.GetAnnotations()["etcdroll.dev/halt-id"])(set)
		}),
		v("a halt and a resume of another", "halted", "Degraded", status.FailedStatus, note("etcdroll.dev/resume", "other")),
		v("converged at an older template", "converged", "Progressing", status.InProgressStatus, target("etcd-other")),
		v("a new token is not yet copied", "converged", "Progressing", status.InProgressStatus, note("etcdroll.dev/release", "v9")),
		v("converged, and a pod was evicted", "converged", "Progressing", status.InProgressStatus, field(int64(2), "status", "readyReplicas")),
		v("the controller has not looked", "converged", "Progressing", status.InProgressStatus, field(int64(0), "status", "observedGeneration")),
		v("converged although paused", "converged", "Healthy", status.CurrentStatus, note("etcdroll.dev/paused", "true")),
		v("nothing written, no annotations", "unmarked", "Progressing", status.InProgressStatus, func(set *unstructured.Unstructured) { set.SetAnnotations(nil) }),
		v("no token", "converged", "Healthy", status.CurrentStatus, func(set *unstructured.Unstructured) {
			notes := set.GetAnnotations()
			delete(notes, "etcdroll.dev/release")
			delete(notes, "etcdroll.dev/converged")
			set.SetAnnotations(notes)
		}),
	}
}

func note(key, value string) func(*unstructured.Unstructured) {
	return func(set *unstructured.Unstructured) {
		notes := set.GetAnnotations()
		notes[key] = value
		set.SetAnnotations(notes)
	}
}

func target(revision string) func(*unstructured.Unstructured) {
	return field(revision, "status", "updateRevision")
}

func field(value any, path ...string) func(*unstructured.Unstructured) {
	return func(set *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(set.Object, value, path...); err != nil {
			panic(err) // the path goes through something that is no object
		}
	}
}

// others are sets that nobody manages, in every combination of what the
// built-in checks look at.
func others(t *testing.T) map[string]*unstructured.Unstructured {
	base := recorded(t)["unmanaged-idle"]
	sets := map[string]*unstructured.Unstructured{}
	for _, strategy := range []map[string]any{
		{"type": "OnDelete"}, {"type": "RollingUpdate"},
		{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(0)}},
		{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(2)}},
		{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(3)}},
	} {
		for ready := range int64(4) {
			for updated := range int64(4) {
				for _, promoted := range []bool{false, true} {
					set := base.DeepCopy()
					field(strategy, "spec", "updateStrategy")(set)
					counts(set, ready, updated, promoted)
					sets[fmt.Sprintf("%v ready %d updated %d promoted %t", strategy, ready, updated, promoted)] = set
				}
			}
		}
	}
	return sets
}

// counts writes the counters; Kubernetes leaves out those that are zero.
func counts(set *unstructured.Unstructured, ready, updated int64, promoted bool) {
	for name, n := range map[string]int64{"readyReplicas": ready, "updatedReplicas": updated, "currentReplicas": 3 - updated} {
		if n == 0 {
			unstructured.RemoveNestedField(set.Object, "status", name)
			continue
		}
		field(n, "status", name)(set)
	}
	if !promoted {
		target("etcd-other")(set)
	}
	if promoted {
		field(int64(3), "status", "currentReplicas")(set)
	}
}
