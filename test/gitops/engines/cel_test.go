package engines

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const recipes = "../../../config/gitops/"

func load(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// recorded are the sets that test/gitops has recorded, by file name.
func recorded(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("../testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded sets: %v", err)
	}
	sets := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		set := &unstructured.Unstructured{}
		load(t, file, &set.Object)
		// JSON numbers are floats; API machinery keeps whole ones whole.
		set.Object = whole(set.Object).(map[string]any)
		sets[strings.TrimSuffix(filepath.Base(file), ".yaml")] = set
	}
	return sets
}

func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = whole(v[key])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// flux is the recipe's check as Flux builds it.
func flux(t *testing.T) *cel.StatusEvaluator {
	t.Helper()
	var k struct {
		Spec struct {
			HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	load(t, recipes+"flux/etcd.yaml", &k)
	if len(k.Spec.HealthCheckExprs) != 1 {
		t.Fatalf("%d checks", len(k.Spec.HealthCheckExprs))
	}
	e, err := cel.NewStatusEvaluator(&k.Spec.HealthCheckExprs[0].HealthCheckExpressions)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func fluxSays(t *testing.T, e *cel.StatusEvaluator, set *unstructured.Unstructured) status.Status {
	t.Helper()
	result, err := e.Evaluate(t.Context(), set)
	if err != nil {
		t.Fatalf("Flux waits for its timeout on an error: %v", err)
	}
	return result.Status
}

func TestFluxTellsTheRecordedStatesApart(t *testing.T) {
	e := flux(t)
	for name, set := range recorded(t) {
		want := map[string]status.Status{
			"converged": status.CurrentStatus, "converged-again": status.CurrentStatus,
			"halted": status.FailedStatus, "unmanaged-idle": status.CurrentStatus,
		}[name]
		if want == "" {
			want = status.InProgressStatus
		}
		if got := fluxSays(t, e, set); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestFluxOnWhatWasNotRecorded(t *testing.T) {
	e := flux(t)
	for _, v := range variants(t) {
		if got := fluxSays(t, e, v.set); got != v.flux {
			t.Errorf("%s: %s, want %s", v.name, got, v.flux)
		}
	}
}

// Sets that are not managed come out as Flux judges them without the recipe.
func TestFluxJudgesOthersAsByItself(t *testing.T) {
	e := flux(t)
	for name, set := range others(t) {
		own, err := status.Compute(set)
		if err != nil {
			t.Fatal(err)
		}
		if got := fluxSays(t, e, set); got != own.Status {
			t.Errorf("%s: %s, by itself %s (%s)", name, got, own.Status, own.Message)
		}
	}
}
