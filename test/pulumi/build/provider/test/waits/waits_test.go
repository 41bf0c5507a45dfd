// Package waits tests the wait expressions of the npm package, as its source has
// them, with the parser and the library of Pulumi's Kubernetes provider.
package waits

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/jsonpath"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	revisionKey = "etcdroll.dev/converged-revision"
	tokenKey    = "etcdroll.dev/converged"
)

// inPackage finds what the pattern captures in the npm package's source.
func inPackage(t *testing.T, pattern string) string {
	t.Helper()
	text, err := os.ReadFile("../../../../../../pulumi/src/waiting.ts")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		t.Fatalf("the package has no %s", pattern)
	}
	return string(found[1])
}

// set is a StatefulSet as the API server shows it.
func set(updateRevision string, annotations map[string]any) *unstructured.Unstructured {
	object := map[string]any{"metadata": map[string]any{"name": "etcd"}, "status": map[string]any{}}
	if annotations != nil {
		object["metadata"].(map[string]any)["annotations"] = annotations
	}
	if updateRevision != "" {
		object["status"].(map[string]any)["updateRevision"] = updateRevision
	}
	return &unstructured.Unstructured{Object: object}
}

type situation struct {
	name        string
	revision    string
	annotations map[string]any
	done        bool
}

func check(t *testing.T, expression string, situations []situation) {
	t.Helper()
	parsed, err := jsonpath.Parse(expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	for _, s := range situations {
		result, err := parsed.Matches(set(s.revision, s.annotations))
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if result.Matched != s.done {
			t.Errorf("%s: done %t, want %t", s.name, result.Matched, s.done)
		}
	}
}

func TestPU02_PU03_PU04_TheRevision(t *testing.T) {
	check(t, inPackage(t, `untilRevisionConverged =\s+"([^"]+)"`), []situation{
		{"converged at the revision", "b", map[string]any{revisionKey: "b"}, true},
		{"converged at another revision", "b", map[string]any{revisionKey: "a"}, false},
		{"never converged", "b", map[string]any{"other": "b"}, false},
		{"no annotations at all", "b", nil, false},
		{"neither: missing equals missing is not enough", "", map[string]any{"other": "x"}, false},
		{"no status yet", "", map[string]any{revisionKey: "a"}, false},
		{"empty on both sides", "", map[string]any{}, false},
	})
}

func TestPU03_PU04_TheToken(t *testing.T) {
	expression := inPackage(t, "return `(jsonpath=[^`]+)`")
	expression = strings.ReplaceAll(expression, "${convergedAnnotation}", tokenKey)
	for _, token := range []string{"v42", "9f86d081884c7d65", "release 7, second try", "a/b:c"} {
		check(t, strings.ReplaceAll(expression, "${token}", token), []situation{
			{"the token", "b", map[string]any{tokenKey: token}, true},
			{"the last token", "b", map[string]any{tokenKey: "v41"}, false},
			{"a token that begins alike", "b", map[string]any{tokenKey: token + "1"}, false},
			{"another annotation", "b", map[string]any{revisionKey: token}, false},
			{"no annotations at all", "b", nil, false},
		})
	}
}

// A token with "=" is refused by the package and by the function; this is why.
func TestATokenWithAnEqualSignCannotBeAwaited(t *testing.T) {
	if _, err := jsonpath.Parse("jsonpath={.metadata.annotations['" + tokenKey + "']}=aGFzaA=x"); err == nil {
		t.Error("the provider parses it after all")
	}
}
