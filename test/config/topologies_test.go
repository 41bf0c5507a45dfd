package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdroll/etcdroll/test/config/overlay"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// idle keeps Deployments from starting pods where only the API server's opinion
// is wanted.
var idle = overlay.Patch{Target: overlay.Target{Kind: "Deployment"}, Patch: "- {op: replace, path: /spec/replicas, value: 0}"}

// direct is the topology without Knative, with components.
func direct(namespace string, components ...string) overlay.Overlay {
	return overlay.Overlay{Namespace: namespace, Resources: []string{"direct"}, Components: components, Patches: []overlay.Patch{idle}}
}

// Each component is accepted on top of the direct topology, alone and with all
// the others, by `kubectl apply --server-side -k` and strictly validated.
func TestEveryComponentIsAccepted(t *testing.T) {
	all := components(t)
	for _, set := range append([][]string{nil, all}, singles(all)...) {
		t.Run("direct+"+strings.Join(set, "+"), func(t *testing.T) {
			o := direct(namespace(t), set...)
			o.Literals = map[string][]string{"etcdroll-namespaces": {"list=" + o.Namespace}}
			must(t, overlay.Apply(t.Context(), shared, o))
		})
	}
}

func singles(names []string) (sets [][]string) {
	for _, name := range names {
		sets = append(sets, []string{name})
	}
	return sets
}

// components are those of the direct topology: all folders but the one that is
// cluster-wide and those that are for other kinds.
func components(t *testing.T) []string {
	t.Helper()
	root, err := cluster.Root(t.Context())
	must(t, err)
	folders, err := os.ReadDir(filepath.Join(root, "config", "components"))
	must(t, err)
	var names []string
	for _, folder := range folders {
		if !slices.Contains([]string{"admission", "kafka-ordering", "elsewhere"}, folder.Name()) {
			names = append(names, folder.Name())
		}
	}
	if len(names) < 5 {
		t.Fatalf("components: %v", names)
	}
	return names
}

// Of the topologies with Knative the API server judges the built-in kinds; the
// others are judged where Knative runs.
func TestKnativeTopologiesRender(t *testing.T) {
	for _, topology := range []string{"knative", "broker"} {
		t.Run(topology, func(t *testing.T) {
			ns := namespace(t)
			objects, err := overlay.Render(t.Context(), shared, overlay.Overlay{
				Namespace: ns, Resources: []string{topology}, Patches: []overlay.Patch{idle}})
			must(t, err)
			builtIn := slices.DeleteFunc(slices.Clone(objects), knative)
			if len(builtIn) == len(objects) || len(builtIn) == 0 {
				t.Fatalf("%d objects, %d of them built in", len(objects), len(builtIn))
			}
			for _, object := range objects {
				if object.GetNamespace() != ns {
					t.Errorf("%s %s is in namespace %q", object.GetKind(), object.GetName(), object.GetNamespace())
				}
			}
			must(t, overlay.ApplyObjects(t.Context(), shared, builtIn))
		})
	}
}

func TestKafkaOrderingIsOnEveryTrigger(t *testing.T) {
	objects, err := overlay.Render(t.Context(), shared, overlay.Overlay{Resources: []string{"broker"}, Components: []string{"kafka-ordering"}})
	must(t, err)
	triggers := 0
	for _, object := range objects {
		if object.GetKind() != "Trigger" {
			continue
		}
		triggers++
		if object.GetAnnotations()["kafka.eventing.knative.dev/delivery.order"] != "ordered" {
			t.Errorf("Trigger %s: %v", object.GetName(), object.GetAnnotations())
		}
	}
	if triggers == 0 {
		t.Error("no Trigger at all")
	}
}
