package admission

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const config = "../../../config"

// settings are those of the released modules that go.mod names.
func settings(t *testing.T) (eventing, serving string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "knative.dev/eventing", "knative.dev/serving").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Fields(string(out))
	return dirs[0], dirs[1]
}

func defaults(t *testing.T) context.Context {
	t.Helper()
	eventing, serving := settings(t)
	ctx, err := released(t.Context(), eventing, serving)
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// manifests are the documents of a file that stand in the namespace, as a
// kustomization puts them there.
func manifests(t *testing.T, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(config, file))
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		object["metadata"].(map[string]any)["namespace"] = "etcd"
		all = append(all, object)
	}
	return all
}

func stored(t *testing.T, ctx context.Context, object map[string]any) (map[string]any, error) {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	out, known, err := admit(ctx, text)
	if err != nil {
		return nil, err
	}
	if !known {
		t.Fatalf("%v is none of Knative's kinds", object["kind"])
	}
	var after map[string]any
	return after, yaml.Unmarshal(out, &after)
}

func TestADefaultKnativeTakesEveryManifest(t *testing.T) {
	ctx := defaults(t)
	for _, file := range []string{"knative/service.yaml", "knative/sinkbinding.yaml", "broker/broker.yaml", "broker/triggers.yaml", "broker/eventtypes.yaml"} {
		for _, object := range manifests(t, file) {
			if _, err := stored(t, ctx, object); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// What a default Knative adds must not change what we rely on.
func TestDefaultsLeaveOurChoicesAlone(t *testing.T) {
	ctx := defaults(t)
	after, err := stored(t, ctx, manifests(t, "broker/broker.yaml")[0])
	if err != nil {
		t.Fatal(err)
	}
	spec := after["spec"].(map[string]any)
	if spec["config"].(map[string]any)["name"] != "config-br-default-channel" {
		t.Errorf("the broker's channel comes from %v", spec["config"])
	}
	delivery := spec["delivery"].(map[string]any)
	if delivery["retry"] != 5.0 || delivery["timeout"] != "PT60S" || delivery["deadLetterSink"].(map[string]any)["ref"].(map[string]any)["namespace"] != "etcd" {
		t.Errorf("delivery is %v", delivery)
	}
	after, err = stored(t, ctx, manifests(t, "knative/service.yaml")[0])
	if err != nil {
		t.Fatal(err)
	}
	template := after["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	if template["timeoutSeconds"] != 60.0 || template["containerConcurrency"] != 10.0 || template["serviceAccountName"] != "etcdroll-roll-fn" {
		t.Errorf("the revision's spec is %v", template)
	}
}

// The checks bite: each of these is what people write first.
func TestADefaultKnativeRefuses(t *testing.T) {
	ctx := defaults(t)
	pod := func(o map[string]any) map[string]any {
		return o["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	}
	for name, c := range map[string]struct {
		file   string
		spoil  func(map[string]any)
		reason string
	}{
		"a pod security context": {"knative/service.yaml", func(o map[string]any) { pod(o)["securityContext"] = map[string]any{"runAsNonRoot": true} }, "securityContext"},
		"a node selector":        {"knative/service.yaml", func(o map[string]any) { pod(o)["nodeSelector"] = map[string]any{"a": "b"} }, "nodeSelector"},
		"a priority class":       {"knative/service.yaml", func(o map[string]any) { pod(o)["priorityClassName"] = "system-cluster-critical" }, "priorityClassName"},
		"a field reference": {"knative/service.yaml", func(o map[string]any) {
			pod(o)["containers"].([]any)[0].(map[string]any)["env"] = []any{map[string]any{"name": "NS",
				"valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.namespace"}}}}
		}, "fieldRef"},
		"a misspelt field":   {"knative/service.yaml", func(o map[string]any) { pod(o)["containerConcurency"] = 1 }, "containerConcurency"},
		"half an event type": {"broker/eventtypes.yaml", func(o map[string]any) { s := o["spec"].(map[string]any); s["attributes"] = s["attributes"].([]any)[:2] }, "spec.attributes.id"},
		"an odd back-off": {"broker/triggers.yaml", func(o map[string]any) {
			o["spec"].(map[string]any)["delivery"].(map[string]any)["backoffDelay"] = "1s"
		}, "backoffDelay"},
	} {
		t.Run(name, func(t *testing.T) {
			object := manifests(t, c.file)[0]
			c.spoil(object)
			if _, err := stored(t, ctx, object); err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %v, want a complaint about %s", err, c.reason)
			}
		})
	}
}

func TestBuiltInKindsPassUnchanged(t *testing.T) {
	in := "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: x\n"
	out, known, err := admit(t.Context(), []byte(in))
	if err != nil || known || string(out) != in {
		t.Errorf("%q, %t, %v", out, known, err)
	}
}
