package pulumi

import (
	"strings"
	"testing"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// The three things that an update must do: return when a new set has formed, at
// once when nothing changes, and when a change has converged.
func TestPU02_PU03_TheTransformWaitsForConvergence(t *testing.T) {
	for _, program := range []string{"transforms", "transformations"} {
		t.Run(program, func(t *testing.T) {
			w := newWorld(t)
			args := map[string]any{"name": "etcd", "config": "etcd-roll", "timeoutSeconds": 150}
			first := w.inCode(program, "one", args)
			w.watch()
			_, formed := first.passed(upWithin)
			w.converged("one")
			w.mark = w.observer.Mark() // while it forms, members are down

			nothing := w.inCode(program, "one", args).unchanged()
			w.guarded()

			_, rolled := w.inCode(program, "two", args).passed(upWithin)
			w.converged("two")
			w.guarded()
			t.Logf("created in %s, nothing to do in %s, rolled in %s", formed, nothing, rolled)
		})
	}
}

// A stack moves from the Job's component to ours, rolls, and back.
func TestTheComponentTakesThePlaceOfTheJob(t *testing.T) {
	w := newWorld(t)
	w.inCode("owner", "one", nil).passed(upWithin)
	w.watch()
	args := func(hash string) map[string]any {
		return map[string]any{"stsName": "etcd", "namespace": w.namespace, "serviceName": "etcd", "clientPort": 2379, "versionHash": hash,
			"cooldownSeconds": 1, "readyTimeoutSeconds": 60, "healthTimeoutSeconds": 30, "timeoutSeconds": 150}
	}
	w.inCode("component", "one", args("v1")).passed(upWithin)
	w.converged("one")
	w.token("v1")
	w.mark = w.observer.Mark() // while it formed, members were down

	w.inCode("component", "two", args("v2")).passed(upWithin)
	w.converged("two")
	w.token("v2")
	w.guarded()

	// A new hash alone replaces nothing.
	w.inCode("component", "two", args("v3")).passed(noopWithin)
	w.token("v3")

	w.inCode("owner", "two", nil).passed(noopWithin)
	set := w.live()
	for _, key := range []string{events.AnnotationConfig, events.AnnotationRelease, "pulumi.com/waitFor"} {
		if value, ok := set.Annotations[key]; ok {
			t.Errorf("annotation %s is left: %q", key, value)
		}
	}
	if _, ok := set.Labels[events.LabelManaged]; ok || *set.Spec.UpdateStrategy.RollingUpdate.Partition < 3 {
		t.Errorf("labels %v, partition %d: want a set that is unmanaged and locked", set.Labels, *set.Spec.UpdateStrategy.RollingUpdate.Partition)
	}
}

func (w *world) token(want string) {
	w.Helper()
	if got := w.live().Annotations[events.AnnotationConverged]; got != want {
		w.Errorf("token %q is marked converged, want %q", got, want)
	}
}

// A roll that halts ends the update by timeout, and what it says names the
// reason. A template that is mended goes through.
func TestAHaltEndsTheUpdateWithTheReason(t *testing.T) {
	w := newWorld(t)
	args := map[string]any{"name": "etcd", "config": "etcd-roll", "timeoutSeconds": 60, "leavePartition": true}
	first := w.inCode("transforms", "one", args)
	w.watch()
	first.passed(upWithin)

	good := w.image
	w.image = "registry.local/etcd:none"
	text, took, err := w.inCode("transforms", "broken", args).ended(upWithin)
	if err == nil {
		t.Fatalf("pulumi passed after %s:\n%s", took, text)
	}
	set := w.live()
	reason := set.Annotations[events.AnnotationReason]
	if set.Annotations[events.AnnotationPhase] != events.PhaseHalted || reason == "" {
		t.Errorf("the set is not halted: %v", set.Annotations)
	}
	if !strings.Contains(text, reason) {
		t.Errorf("pulumi does not show the reason %q:\n%s", reason, text)
	}
	t.Logf("failed after %s:\n%s", took, text)

	w.image = good
	w.inCode("transforms", "mended", args).passed(upWithin)
	w.converged("mended")
}
