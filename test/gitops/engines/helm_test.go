package engines

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// Every object of the chart is known to Kubernetes down to the last field, with
// the values of the chart alone.
func TestTheHelmChartRendersWithItsOwnValues(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "run", "./render", recipes+"helm", "db", "prod").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	known := map[string]any{"ServiceAccount": &corev1.ServiceAccount{}, "Role": &rbacv1.Role{}, "RoleBinding": &rbacv1.RoleBinding{}, "Job": &batchv1.Job{}}
	for document := range bytes.SplitSeq(out, []byte("\n---\n")) {
		var head struct{ Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			t.Fatal(err)
		}
		into, wanted := known[head.Kind]
		if !wanted {
			t.Errorf("a second %q, or one too many", head.Kind)
			continue
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			t.Errorf("%s: %v", head.Kind, err)
		}
		delete(known, head.Kind)
	}
	if len(known) != 0 {
		t.Errorf("missing: %v", known)
	}
}

func TestTheHelmValuesReachTheCommand(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "run", "./render", recipes+"helm", "db", "prod", "testdata/values.yaml").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, last, _ := bytes.Cut(out, []byte("kind: Job"))
	var job batchv1.Job
	if err := yaml.Unmarshal(append([]byte("kind: Job"), last...), &job); err != nil {
		t.Fatal(err)
	}
	c := job.Spec.Template.Spec.Containers[0]
	got, err := json.Marshal(append([]string{c.Image}, c.Args...))
	if err != nil {
		t.Fatal(err)
	}
	if want := `["example.com/kubectl-etcdroll:v1","wait","main","--namespace=prod","--timeout=45m"]`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}
