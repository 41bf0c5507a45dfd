package fn

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

func TestSetWithNothingSpelledOutIsWhatTheServerDefaultsTo(t *testing.T) {
	set := etcdSet(3)
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{}
	set.Spec.PodManagementPolicy = ""
	set.Spec.Replicas = nil
	got := toSet(set)
	if got.Strategy != guard.RollingUpdate || got.Management != guard.OrderedReady || got.Replicas != 1 || got.Partition != 0 || got.MaxUnavailable != 1 {
		t.Errorf("got %+v", got)
	}
	if !got.Open() {
		t.Error("a set without a partition is open")
	}
}

func TestSetOfAnUnknownKindIsUnknown(t *testing.T) {
	set := etcdSet(3)
	set.Spec.UpdateStrategy.Type = "Sideways"
	set.Spec.PodManagementPolicy = "Chaotic"
	got := toSet(set)
	if got.Strategy != guard.StrategyUnknown || got.Management != guard.ManagementUnknown {
		t.Errorf("got %v, %v", got.Strategy, got.Management)
	}
}

func TestSS10_MaxUnavailableResolvesAsTheControllerDoes(t *testing.T) {
	for _, c := range []struct {
		value    *intstr.IntOrString
		replicas int
		want     int
	}{
		{nil, 3, 1},
		{ptr(intstr.FromInt32(1)), 3, 1},
		{ptr(intstr.FromInt32(2)), 3, 2},
		{ptr(intstr.FromString("50%")), 3, 1},
		{ptr(intstr.FromString("50%")), 5, 2},
		{ptr(intstr.FromString("1%")), 5, 1},
		{ptr(intstr.FromString("many")), 5, 0},
		{ptr(intstr.FromInt32(-2)), 5, 0},
	} {
		set := etcdSet(c.replicas)
		set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = c.value
		if got := toSet(set).MaxUnavailable; got != c.want {
			t.Errorf("%v of %d gives %d, want %d", c.value, c.replicas, got, c.want)
		}
	}
}

func TestSS36_OnlyRevisionsAndGenerationAreTakenFromStatus(t *testing.T) {
	full, bare := etcdSet(3), etcdSet(3)
	full.Status.ReadyReplicas, full.Status.UpdatedReplicas, full.Status.CurrentReplicas, full.Status.AvailableReplicas = 3, 3, 3, 3
	if toSet(full) != toSet(bare) {
		t.Error("a counter of the status changes what is decided from")
	}
	if s := toSet(&appsv1.StatefulSet{}); s.StatusCurrent() {
		t.Error("an empty status is taken for current")
	}
}

func TestSS23_TerminatingPodIsNotUsableThoughStillReady(t *testing.T) {
	pod := etcdPod("etcd-1", oldRevision)
	if !toPod(pod, setUID).Usable() {
		t.Fatal("the pod is not usable to begin with")
	}
	now := metav1.NewTime(noon)
	pod.DeletionTimestamp = &now
	if got := toPod(pod, setUID); got.Usable() || !got.Terminating {
		t.Errorf("got %+v", got)
	}
}

func TestSS31_RevisionComesFromTheLabelAndNeverFromTheImage(t *testing.T) {
	pod := etcdPod("etcd-1", newRevision)
	pod.Spec.Containers[0].Image = "mirror.example/etcd@sha256:0123"
	if got := toPod(pod, setUID).Revision; got != newRevision {
		t.Errorf("got %q", got)
	}
}

func TestPodBelongsToTheSetByUIDOfItsController(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"another set of that name": func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-older" },
		"no controller":            func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil },
		"another kind":             func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "ReplicaSet" },
		"no owner":                 func(p *corev1.Pod) { p.OwnerReferences = nil },
	} {
		pod := etcdPod("etcd-1", oldRevision)
		change(pod)
		if toPod(pod, setUID).Owned {
			t.Errorf("%s: counts as owned", name)
		}
	}
	if toPod(etcdPod("etcd-1", oldRevision), "").Owned {
		t.Error("a set without UID owns a pod")
	}
}

func TestReadyNeedsPhaseAndCondition(t *testing.T) {
	pod := etcdPod("etcd-1", oldRevision)
	pod.Status.Phase = corev1.PodFailed
	if toPod(pod, setUID).Ready {
		t.Error("a failed pod is Ready")
	}
	pod = etcdPod("etcd-1", oldRevision)
	pod.Status.Conditions = nil
	got := toPod(pod, setUID)
	if got.Ready || !got.ReadyChanged.Equal(pod.CreationTimestamp.Time) {
		t.Errorf("without a condition: %+v", got)
	}
}

func TestRestartedContainerStartsTheClockAnew(t *testing.T) {
	pod := etcdPod("etcd-1", oldRevision)
	pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(noon.Add(-time.Second))
	if up := toPod(pod, setUID).UpSince(); !up.Equal(noon.Add(-time.Second)) {
		t.Errorf("up since %v", up)
	}
}

func TestTroubleIsNamedInTheClustersOwnWords(t *testing.T) {
	waiting := func(reason, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}
		}
	}
	ended := func(restarts int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].RestartCount = restarts
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
		}
	}
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   guard.Trouble
		words  string
	}{
		"crash loop":   {waiting("CrashLoopBackOff", "back-off 40s"), guard.CrashLoop, "last exit code 2"},
		"image":        {waiting("ImagePullBackOff", "no such tag"), guard.ImageTrouble, "no such tag"},
		"config":       {waiting("CreateContainerConfigError", "secret missing"), guard.ConfigTrouble, "secret missing"},
		"just created": {waiting("ContainerCreating", ""), guard.NoTrouble, "ContainerCreating"},
		"first exit":   {ended(0), guard.NoTrouble, "exit code 1"},
		"second exit":  {ended(1), guard.CrashLoop, "exit code 1"},
		"SS-25 unschedulable": {func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodPending
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes:\nvolume node affinity"})
		}, guard.Unschedulable, "0/3 nodes: volume node affinity"},
		"evicted": {func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
			p.Status.ContainerStatuses = nil
		}, guard.NoTrouble, "Evicted"},
	} {
		pod := etcdPod("etcd-1", oldRevision)
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		c.change(pod)
		if got := toPod(pod, setUID); got.Trouble != c.want || !strings.Contains(got.Detail, c.words) || strings.Contains(got.Detail, "\n") {
			t.Errorf("%s: trouble %v, %q", name, got.Trouble, got.Detail)
		}
	}
}

func TestInitContainerInTroubleCounts(t *testing.T) {
	pod := etcdPod("etcd-1", oldRevision)
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "setup", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}
	if got := toPod(pod, setUID); got.Trouble != guard.ImageTrouble || !strings.Contains(got.Detail, "setup") {
		t.Errorf("got %+v", got)
	}
}

func TestOptInIsExact(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": false, "yes": false, "": false} {
		set := etcdSet(3)
		set.Labels[events.LabelManaged] = value
		if got := toSet(set).Managed; got != want {
			t.Errorf("label %q: managed %t", value, got)
		}
	}
}

func TestOneLineIsPrintableAndBounded(t *testing.T) {
	got := oneLine("a\x1b[31m\n\tb\u2028 c"+strings.Repeat("x", 100), 20)
	if strings.ContainsAny(got, "\n\t\x1b\u2028") || len([]rune(got)) > 20 {
		t.Errorf("got %q", got)
	}
}
