package fn

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

func decide(t *testing.T, w *world) (*Sight, roll.Decision) {
	t.Helper()
	s, d, err := observer(w).Decide(t.Context(), target, roll.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	return s, d
}

func TestConfigurationThatCannotBeReadIsSaidOnTheSet(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		words  string
	}{
		"no ConfigMap": {func(w *world) { w.set.Annotations[events.AnnotationConfig] = "roll" }, "does not exist"},
		"no key": {func(w *world) {
			w.set.Annotations[events.AnnotationConfig] = "roll"
			w.configs["roll"] = &corev1.ConfigMap{}
		}, "has no key config.yaml"},
		"no right": {func(w *world) {
			w.set.Annotations[events.AnnotationConfig] = "roll"
			w.fails["get configmap roll"] = []error{forbidden("configmaps")}
		}, "no right"},
		"no name": {func(w *world) { w.set.Annotations[events.AnnotationConfig] = "../x" }, "no name of a ConfigMap"},
		"unknown key": {func(w *world) {
			w.set.Annotations[events.AnnotationConfig] = "roll"
			w.configs["roll"] = &corev1.ConfigMap{Data: map[string]string{ConfigKey: "x: 1"}}
		}, "unknown key"},
		"bad override": {func(w *world) { w.set.Annotations[events.AnnotationOverride] = "yes please" }, events.AnnotationOverride},
		"bad release":  {func(w *world) { w.set.Annotations[events.AnnotationRelease] = "a=b" }, events.AnnotationRelease},
	} {
		w := newWorld(3).outdated()
		c.change(w)
		_, d := decide(t, w)
		if d.Outcome != roll.Blocked || d.Reason != roll.ReasonConfigInvalid || !strings.Contains(d.Message, c.words) || d.Disruption() > 0 {
			t.Errorf("%s: %s %s: %s", name, d.Outcome, d.Reason, d.Message)
		}
	}
}

func TestConfigMapThatIsSlowIsNoFaultOfConfiguration(t *testing.T) {
	w := newWorld(3).outdated()
	w.set.Annotations[events.AnnotationConfig] = "roll"
	w.fails["get configmap roll"] = []error{errors.New("connection reset")}
	if _, _, err := observer(w).Decide(t.Context(), target, roll.Ask{}); err == nil {
		t.Error("no error")
	}
}

func TestMembersAreNotDialledOnSettingsThatMayBeWrong(t *testing.T) {
	w := newWorld(3) // would be marked converged, once its members are asked
	w.set.Annotations[events.AnnotationConfig] = "missing"
	if _, d := decide(t, w); d.Outcome != roll.Blocked || d.Reason != roll.ReasonConfigInvalid || w.probes > 0 {
		t.Errorf("%s %s, %d probes", d.Outcome, d.Reason, w.probes)
	}
}

func TestBrokenConfigurationDoesNotKeepAnOpenSetOpen(t *testing.T) {
	w := newWorld(3).outdated()
	w.set.Spec.UpdateStrategy.RollingUpdate.Partition = ptr(int32(0))
	w.set.Annotations[events.AnnotationConfig] = "missing"
	if _, d := decide(t, w); d.Step != roll.StepLock {
		t.Errorf("%s %s", d.Outcome, d.Reason)
	}
}

func TestTimeIsTheServersAndGoesOnWhileMembersAreAsked(t *testing.T) {
	w := newWorld(3).outdated()
	local := time.Date(2031, 1, 1, 0, 0, 0, 300_000_000, time.UTC) // a clock that is far off
	o := observer(w)
	o.Clock = func() time.Time { local = local.Add(2 * time.Second); return local }
	s, d, err := o.Decide(t.Context(), target, roll.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Now.Equal(noon.Add(2*time.Second)) || !d.Write.Record.Step.Started.Equal(s.Now) && d.Write.Record.Started.IsZero() {
		t.Errorf("now %v", s.Now)
	}
	if s.Into != 300*time.Millisecond {
		t.Errorf("into the second of the server's clock by %v of ours", s.Into)
	}
	w.now = time.Time{} // a server, or proxy, that does not tell
	s, _, err = o.Decide(t.Context(), target, roll.Ask{})
	if err != nil || s.Now.Year() != 2031 || s.Into != 0 {
		t.Errorf("without a Date: %v, %v", s.Now, err)
	}
}

func TestBudgetIsTheTightestThatSelectsThePods(t *testing.T) {
	budget := func(name, app string, allowed int32) policyv1.PodDisruptionBudget {
		return policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		}
	}
	pods := []labels.Set{{"app": "etcd"}}
	stale, nothing, all := budget("stale", "etcd", 5), budget("none", "", 0), budget("all", "", 1)
	stale.Generation = 2
	stale.Status.ObservedGeneration = 1
	nothing.Spec.Selector, all.Spec.Selector = nil, &metav1.LabelSelector{}
	for name, c := range map[string]struct {
		list []policyv1.PodDisruptionBudget
		want guard.Budget
	}{
		"none":     {nil, guard.Budget{Read: guard.Yes}},
		"foreign":  {[]policyv1.PodDisruptionBudget{budget("x", "web", 0), nothing}, guard.Budget{Read: guard.Yes}},
		"tightest": {[]policyv1.PodDisruptionBudget{budget("b", "etcd", 1), budget("a", "etcd", 0), all}, guard.Budget{Read: guard.Yes, Found: true, Name: "a"}},
		"stale":    {[]policyv1.PodDisruptionBudget{stale}, guard.Budget{Read: guard.Yes, Found: true, Name: "stale"}},
		"all":      {[]policyv1.PodDisruptionBudget{all}, guard.Budget{Read: guard.Yes, Found: true, Name: "all", Allowed: 1}},
	} {
		if got := toBudget(c.list, pods); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSS27_BudgetThatAllowsNothingHoldsTheStep(t *testing.T) {
	w := newWorld(3).outdated()
	w.budgets = []policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Name: "etcd"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}}
	if _, d := decide(t, w); d.Outcome != roll.Blocked || !strings.Contains(d.Message, "DisruptionBudget") {
		t.Errorf("%s: %s", d.Outcome, d.Message)
	}
	w.budgets = nil
	w.fails["list budgets"] = []error{forbidden("poddisruptionbudgets")}
	if s, d := decide(t, w); d.Step != roll.StepRelease || s.Budget.Read != guard.No {
		t.Errorf("without the right to list: %s: %s", d.Outcome, d.Message)
	}
}

func TestTypoInReplicasCostsNoFloodOfRequests(t *testing.T) {
	w := newWorld(3)
	w.set.Spec.Replicas = ptr(int32(900))
	_, d := decide(t, w)
	if d.Reason != roll.ReasonShapeUnsupported || len(w.calls) > 1+guard.MaxReplicas {
		t.Errorf("%s after %d calls", d.Reason, len(w.calls))
	}
}

func TestUnreadableRecordIsNoneAndAHaltCountsAllTheSame(t *testing.T) {
	w := newWorld(3).outdated()
	w.set.Annotations = map[string]string{
		events.AnnotationRollout: "{", events.AnnotationPhase: "Halted",
		events.AnnotationHaltID: "etcd-b-7", events.AnnotationHaltedRevision: newRevision, events.AnnotationReason: "NotReady",
	}
	if _, d := decide(t, w); d.Outcome != roll.Done || d.Reason != roll.ReasonNotReady || w.probes > 0 {
		t.Errorf("%s %s, %d probes", d.Outcome, d.Reason, w.probes)
	}
}

func TestHaltedSetIsNeverAskedForItsMembers(t *testing.T) {
	w := newWorld(3).outdated()
	w.set.Annotations[events.AnnotationHaltID], w.set.Annotations[events.AnnotationHaltedRevision] = "etcd-b-7", newRevision
	w.set.Annotations[events.AnnotationConfig] = "roll"
	w.configs["roll"] = &corev1.ConfigMap{Data: map[string]string{ConfigKey: "tls: {enabled: true, secretName: s}\nclientPort: 1"}}
	decide(t, w)
	if w.probes > 0 || w.count("get secret s") > 0 {
		t.Errorf("%d probes, calls %v", w.probes, w.calls)
	}
}
