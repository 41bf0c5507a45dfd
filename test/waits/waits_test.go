// Package waits tests the wait expressions of the README, word for word, with
// the libraries that the tools evaluate them with.
package waits

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/theory/jsonpath"
	kubectl "k8s.io/client-go/util/jsonpath"
)

// inReadme finds the one expression that the pattern captures.
func inReadme(t *testing.T, pattern string) string {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		t.Fatalf("the README has no %s", pattern)
	}
	return string(found[1])
}

// set is a StatefulSet as the API server shows it.
func set(updateRevision string, annotations map[string]any) map[string]any {
	metadata := map[string]any{"name": "etcd"}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	status := map[string]any{}
	if updateRevision != "" {
		status["updateRevision"] = updateRevision
	}
	return map[string]any{"metadata": metadata, "status": status}
}

const convergedRevision = "etcdroll.dev/converged-revision"

func TestPU02_PU03_PU04_PulumiWaitsForTheRevision(t *testing.T) {
	raw := inReadme(t, `pulumi.com/waitFor: "jsonpath=\{(.*)\}"`)
	path, err := jsonpath.Parse("$" + raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	for name, c := range map[string]struct {
		object map[string]any
		done   bool
	}{
		"converged at the revision":                     {set("b", map[string]any{convergedRevision: "b"}), true},
		"converged at another revision":                 {set("b", map[string]any{convergedRevision: "a"}), false},
		"never converged":                               {set("b", map[string]any{"other": "b"}), false},
		"no annotations at all":                         {set("b", nil), false},
		"neither: missing equals missing is not enough": {set("", map[string]any{"other": "x"}), false},
		"no status yet":                                 {set("", map[string]any{convergedRevision: "a"}), false},
		"empty on both sides":                           {map[string]any{"metadata": map[string]any{"annotations": map[string]any{}}, "status": map[string]any{}}, false},
	} {
		selected := path.Select(c.object)
		if got := len(selected) > 0; got != c.done {
			t.Errorf("%s: done %t, selected %v", name, got, selected)
		}
	}
}

func TestPU03_PU04_KubectlWaitsForTheToken(t *testing.T) {
	raw := inReadme(t, `--for=jsonpath='(\{.*\})'=v42`)
	if !strings.Contains(raw, `etcdroll\.dev/converged`) {
		t.Fatalf("dots in the key must be escaped: %s", raw)
	}
	path := kubectl.New("wait").AllowMissingKeys(true)
	if err := path.Parse(raw); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	for name, c := range map[string]struct {
		annotations map[string]any
		want        string
	}{
		"the token":      {map[string]any{"etcdroll.dev/converged": "v42"}, "v42"},
		"the last token": {map[string]any{"etcdroll.dev/converged": "v41"}, "v41"},
		"none":           {map[string]any{convergedRevision: "b"}, ""},
	} {
		results, err := path.FindResults(set("b", c.annotations))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := ""
		if len(results) > 0 && len(results[0]) > 0 {
			got, _ = results[0][0].Interface().(string)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// GO-04: the README tells what not to wait for.
func TestGO04_TheReadmeWarnsOfBuiltInWaits(t *testing.T) {
	if said := inReadme(t, "Do not use `helm --wait` (or a tool's built-in StatefulSet check as proof)"); said == "" {
		t.Error("the warning is gone")
	}
}
