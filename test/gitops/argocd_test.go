package gitops

import (
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// application is what the recipe says.
func application(t *testing.T) (ignored []string, options []string) {
	t.Helper()
	text, err := os.ReadFile("../../config/gitops/argocd/application.yaml")
	must(t, err)
	var a struct {
		Spec struct {
			IgnoreDifferences []struct {
				Group, Kind  string
				JSONPointers []string `json:"jsonPointers"`
			} `json:"ignoreDifferences"`
			SyncPolicy struct {
				SyncOptions []string `json:"syncOptions"`
			} `json:"syncPolicy"`
		} `json:"spec"`
	}
	must(t, yaml.Unmarshal(text, &a))
	for _, d := range a.Spec.IgnoreDifferences {
		if d.Group == "apps" && d.Kind == "StatefulSet" {
			ignored = append(ignored, d.JSONPointers...)
		}
	}
	return ignored, a.Spec.SyncPolicy.SyncOptions
}

// sync applies as Argo CD does with the two sync options of the recipe: what the
// pointers name is taken over from the live set, and the rest applied with force.
func (s *stage) sync(manifest *appsv1.StatefulSet, ignored []string) {
	s.Helper()
	live, wanted := object(s.T, s.live()), object(s.T, manifest)
	for _, pointer := range ignored {
		path := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		value, found, err := unstructured.NestedFieldCopy(live, path...)
		must(s.T, err)
		if found {
			must(s.T, unstructured.SetNestedField(wanted, value, path...))
		}
	}
	var set appsv1.StatefulSet
	must(s.T, runtime.DefaultUnstructuredConverter.FromUnstructured(wanted, &set))
	must(s.T, s.apply(s.ctx, "argocd-controller", &set))
}

func object(t *testing.T, set *appsv1.StatefulSet) map[string]any {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	must(t, err)
	return m
}

// What a sync ignores it leaves alone, and syncs every second do not keep a roll
// from converging.
func TestGO01_ArgoLeavesPartitionAlone(t *testing.T) {
	t.Parallel()
	ignored, options := application(t)
	if joined := strings.Join(options, " "); len(ignored) != 1 || joined != "ServerSideApply=true RespectIgnoreDifferences=true" {
		t.Fatalf("the recipe ignores %v with %v", ignored, options)
	}
	s := newStage(t, quick())
	s.tended()
	manifest := s.desired(func(*appsv1.StatefulSet) {})
	// Any value that is locked will do to see who writes.
	_, err := shared.Kubectl(s.ctx, nil, "-n", s.namespace, "patch", "statefulset", "etcd", "--type=merge", `-p={"spec":{"updateStrategy":{"rollingUpdate":{"partition":5}}}}`)
	must(t, err)
	s.sync(manifest, ignored)
	if got := *s.live().Spec.UpdateStrategy.RollingUpdate.Partition; got != 5 {
		t.Errorf("a sync that honours ignoreDifferences put partition at %d", got)
	}
	s.sync(manifest, nil)
	if got := *s.live().Spec.UpdateStrategy.RollingUpdate.Partition; got != 3 {
		t.Errorf("a sync that ignores nothing left partition at %d: this test shows nothing", got)
	}

	etcdset.ToVersion("3.7.3")(&manifest.Spec.Template)
	s.mark = s.observer.Mark()
	s.sync(manifest, ignored)
	s.changed()
	s.healed(manifest, ignored)
	r := s.rolled()
	// Between Argo CD's reading and its applying the set may be opened; then the
	// sync locks it, and the pod comes back old and goes once more.
	for index := range 3 {
		if n := r.Deletions[index]; n < 1 || n > 3 {
			t.Errorf("pod %d went %d times, with three attempts allowed", index, n)
		}
	}
	t.Logf("deletions by index %v, partition went %v", r.Deletions, r.Partitions)
}

// healed syncs once a second until the roll has ended.
func (s *stage) healed(manifest *appsv1.StatefulSet, ignored []string) {
	s.Helper()
	for deadline := time.Now().Add(rollsWithin); time.Now().Before(deadline); {
		if s.observer.Until(s.ctx, time.Second, "", func(v observer.View) bool {
			return v.AllOnTarget() && v.Set.Annotations[events.AnnotationConvergedRevision] == v.Set.Update
		}) == nil {
			return
		}
		s.sync(manifest, ignored)
	}
	s.Fatal("the roll has not ended")
}
