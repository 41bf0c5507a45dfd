package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

func quick() etcdset.Options { return etcdset.Options{Config: etcdset.Quick(), Release: "v1"} }

// keep writes the set as the API server shows it now, which the tests of
// engines judge. Without -record it only checks that the recorded one still has
// the same phase and the same annotations.
func (s *stage) keep(name string) {
	s.Helper()
	live := s.live()
	live.APIVersion, live.Kind, live.ManagedFields = "apps/v1", "StatefulSet", nil
	live.Spec.Template.Spec.Containers[0].Args = nil // long, and no tool looks at them
	file := filepath.Join("testdata", name+".yaml")
	if *record {
		text, err := yaml.Marshal(live)
		must(s.T, err)
		must(s.T, os.WriteFile(file, []byte("# Recorded by TestRecordedStates.\n"+strings.ReplaceAll(string(text), s.namespace, "etcd")), 0o644))
		return
	}
	text, err := os.ReadFile(file)
	must(s.T, err)
	var recorded appsv1.StatefulSet
	must(s.T, yaml.UnmarshalStrict(text, &recorded))
	if was, is := shape(&recorded), shape(live); was != is {
		s.Errorf("%s was recorded as\n%s\nand is now\n%s\n", name, was, is)
	}
}

// shape is what the recipes read of a set, without the values that differ from
// run to run.
func shape(set *appsv1.StatefulSet) string {
	notes, r := set.Annotations, set.Status
	reason := notes[events.AnnotationReason]
	if notes[events.AnnotationPhase] == events.PhaseRolling {
		reason = "" // which step a roll is at is a matter of milliseconds
	}
	return fmt.Sprintf("phase %q reason %q managed %q halted here %t converged here %t released %t promoted %t observed %t",
		notes[events.AnnotationPhase], reason, set.Labels[events.LabelManaged],
		notes[events.AnnotationHaltedRevision] == r.UpdateRevision, notes[events.AnnotationConvergedRevision] == r.UpdateRevision,
		notes[events.AnnotationRelease] == notes[events.AnnotationConverged], r.CurrentRevision == r.UpdateRevision,
		r.ObservedGeneration == set.Generation)
}

// The states that the recipes must tell apart, each as a real control plane and
// the real product leave it behind.
func TestRecordedStates(t *testing.T) {
	t.Run("managed", func(t *testing.T) {
		t.Parallel()
		recordManaged(t)
	})
	t.Run("halted", func(t *testing.T) {
		t.Parallel()
		recordHalted(t)
	})
	t.Run("unmanaged", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, etcdset.Options{Native: true})
		// The counters in status come later than what the pods say.
		s.until(formsWithin, "the controller has not counted", func(observer.View) bool { return s.live().Status.ReadyReplicas == 3 })
		s.keep("unmanaged-idle")
		must(t, s.set.Edit(s.ctx, etcdset.ToImage("registry.local/etcd:broken")))
		s.until(rollsWithin, "the native rolling update has not begun", func(v observer.View) bool {
			return v.Set.Observed == v.Set.Generation && v.Pods[2].Revision == v.Set.Update && !v.Pods[2].Ready
		})
		s.keep("unmanaged-rolling")
	})
}

func recordManaged(t *testing.T) {
	s := newStage(t, quick())
	s.keep("unmarked")
	s.tended()
	s.keep("converged")
	s.annotate(events.AnnotationPaused, "true")
	s.edit(etcdset.Template(etcdset.WithEnv("GENERATION", "2")))
	s.phased(events.PhasePaused)
	s.keep("paused")
	// Nothing is wrong with the members, and a gate stands in the way.
	s.edit(etcdset.Template(etcdset.ToVersion("3.5.35"))) // a downgrade that nobody enabled
	s.annotate(events.AnnotationPaused, "")
	s.phased(events.PhaseBlocked)
	s.keep("blocked")
	s.edit(func(set *appsv1.StatefulSet) {
		etcdset.Template(etcdset.ToVersion("3.7.3"))(set)
		set.Annotations[events.AnnotationRelease] = "v2"
	})
	s.until(rollsWithin, "the second member has not been replaced", func(v observer.View) bool {
		return v.Pods[1].Revision == v.Set.Update && v.Pods[1].Ready && v.Set.Annotations[events.AnnotationPhase] == events.PhaseRolling
	})
	s.keep("rolling")
	s.until(rollsWithin, "the roll has not ended", observer.View.Settled)
	s.keep("converged-again")
}

func recordHalted(t *testing.T) {
	o := quick()
	o.Config["readyTimeoutSeconds"] = 10
	s := newStage(t, o)
	s.tended()
	s.edit(etcdset.Template(etcdset.ToImage("registry.local/etcd:broken")))
	s.phased(events.PhaseHalted)
	s.keep("halted")
}

func (s *stage) annotate(key, value string) {
	s.Helper()
	argument := key + "=" + value
	if value == "" {
		argument = key + "-"
	}
	_, err := shared.Kubectl(s.ctx, nil, "-n", s.namespace, "annotate", "statefulset", s.set.Name, argument, "--overwrite")
	must(s.T, err)
}
