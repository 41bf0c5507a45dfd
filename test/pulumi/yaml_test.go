package pulumi

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// A program in YAML has no transforms: its author writes the label, the lock and
// the README's wait expression.
func TestPU02_PU03_AProgramInYAMLWaitsForConvergence(t *testing.T) {
	w := newWorld(t)
	must(t, w.engine.add(w.ctx, "pulumi-language-yaml"))
	w.engine.start(t, w.inYAML("one"), "pulumi", "stack", "init", "dev").passed(noopWithin)
	first := w.up()
	w.watch()
	_, formed := first.passed(upWithin)
	w.converged("one")
	w.mark = w.observer.Mark() // while it forms, members are down

	nothing := w.up().unchanged()
	w.guarded()

	w.inYAML("two")
	_, rolled := w.up().passed(upWithin)
	w.converged("two")
	w.guarded()
	t.Logf("created in %s, nothing to do in %s, rolled in %s", formed, nothing, rolled)
}

func (w *world) up() *run {
	w.Helper()
	return w.engine.start(w.T, w.dir, "pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack=dev")
}

// inYAML writes the program and gives its directory.
func (w *world) inYAML(note string) string {
	w.Helper()
	manifest, err := os.ReadFile(w.manifest(note))
	must(w.T, err)
	resources := map[string]any{}
	for documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); ; {
		var o map[string]any
		if err := documents.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else {
			must(w.T, err)
		}
		kind, group := o["kind"].(string), "core/v1"
		if kind == "StatefulSet" {
			w.adopt(o)
			group = "apps/v1"
		}
		delete(o, "kind")
		delete(o, "apiVersion")
		resources[strings.ToLower(kind)] = map[string]any{"type": "kubernetes:" + group + ":" + kind, "properties": o}
	}
	program, err := yaml.Marshal(map[string]any{"name": "etcd", "runtime": "yaml", "resources": resources})
	must(w.T, err)
	must(w.T, os.WriteFile(filepath.Join(w.dir, "Pulumi.yaml"), program, 0o644))
	return w.dir
}

// adopt does what docs/pulumi.md tells authors of YAML to write.
func (w *world) adopt(set map[string]any) {
	readme, err := os.ReadFile("../../README.md")
	must(w.T, err)
	expression := regexp.MustCompile(`pulumi.com/waitFor: "(.*)"`).FindSubmatch(readme)
	metadata, spec := set["metadata"].(map[string]any), set["spec"].(map[string]any)
	metadata["labels"] = map[string]any{"etcdroll.dev/managed": "true"}
	metadata["annotations"] = map[string]any{"etcdroll.dev/config": "etcd-roll", "pulumi.com/waitFor": string(expression[1]), "pulumi.com/timeoutSeconds": "150"}
	spec["updateStrategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": spec["replicas"]}}
}
