package pod

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBackoff(t *testing.T) {
	b := Backoff{Base: 10 * time.Second, Cap: 5 * time.Minute}
	for i, want := range []int{0, 10, 20, 40, 80, 160, 300, 300} {
		if got := b.After(time.Second); got != time.Duration(want)*time.Second {
			t.Errorf("pause %d = %s, want %ds", i, got, want)
		}
	}
	if got := b.After(10 * time.Minute); got != 0 {
		t.Errorf("after a long run: %s, want none", got)
	}
	if got := b.After(time.Second); got != 10*time.Second {
		t.Errorf("after that: %s, want the base", got)
	}
}

func TestAddressesAreNotShared(t *testing.T) {
	var a Addresses
	ip, err := a.Claim("ns", "etcd-0", "one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Claim("ns", "etcd-0", "two"); err == nil {
		t.Error("two live pods share an address")
	}
	a.Release(ip, "two") // not its own
	if _, err := a.Claim("ns", "etcd-0", "two"); err == nil {
		t.Error("a pod released the address of another")
	}
	a.Release(ip, "one")
	if _, err := a.Claim("ns", "etcd-0", "two"); err != nil {
		t.Error(err)
	}
}

func TestEndingOnlyComesNearer(t *testing.T) {
	e := newEnding()
	e.within(time.Hour)
	<-e.begun
	e.within(2 * time.Hour)
	if left := e.left(); left > time.Hour {
		t.Errorf("a longer grace was taken: %s", left)
	}
	e.within(time.Millisecond)
	select {
	case <-e.overdue:
	case <-time.After(5 * time.Second):
		t.Error("a shorter grace was not taken")
	}
}

var (
	waitingState = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	runningState = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
)

func endedState(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
}

func TestPhaseAndReadiness(t *testing.T) {
	up := container{name: "c", state: runningState, ready: true, started: true}
	unready := container{name: "c", state: runningState, started: true}
	fresh := container{name: "c", state: waitingState}
	crashed := container{name: "c", state: waitingState, last: endedState(1)}
	done, failed := container{name: "c", state: endedState(0)}, container{name: "c", state: endedState(1)}
	for _, c := range []struct {
		name       string
		init, main []container
		final      bool
		phase      corev1.PodPhase
		ready      corev1.ConditionStatus
		reason     string
	}{
		{"nothing started", nil, []container{fresh}, false, corev1.PodPending, corev1.ConditionFalse, "ContainersNotReady"},
		{"running, not ready", nil, []container{unready}, false, corev1.PodRunning, corev1.ConditionFalse, "ContainersNotReady"},
		{"ready", nil, []container{up}, false, corev1.PodRunning, corev1.ConditionTrue, ""},
		{"one of two ready", nil, []container{up, unready}, false, corev1.PodRunning, corev1.ConditionFalse, "ContainersNotReady"},
		{"one of two waits", nil, []container{up, fresh}, false, corev1.PodPending, corev1.ConditionFalse, "ContainersNotReady"},
		{"crash loop", nil, []container{crashed}, false, corev1.PodRunning, corev1.ConditionFalse, "ContainersNotReady"},
		{"init runs", []container{unready}, []container{fresh}, false, corev1.PodPending, corev1.ConditionFalse, "ContainersNotReady"},
		{"init done", []container{done}, []container{up}, false, corev1.PodRunning, corev1.ConditionTrue, ""},
		{"all succeeded", nil, []container{done}, true, corev1.PodSucceeded, corev1.ConditionFalse, "PodCompleted"},
		{"one failed", nil, []container{done, failed}, true, corev1.PodFailed, corev1.ConditionFalse, "PodFailed"},
	} {
		b := &board{final: c.final}
		for i := range c.init {
			b.init = append(b.init, &c.init[i])
		}
		for i := range c.main {
			b.main = append(b.main, &c.main[i])
		}
		s := b.status(&corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways}}, corev1.PodStatus{}, "127.16.0.1", "127.0.0.1")
		ready := condition(s, corev1.PodReady)
		if s.Phase != c.phase || ready.Status != c.ready || ready.Reason != c.reason {
			t.Errorf("%s: phase %s, ready %s (%s); want %s, %s (%s)", c.name, s.Phase, ready.Status, ready.Reason, c.phase, c.ready, c.reason)
		}
	}
}

func condition(s corev1.PodStatus, kind corev1.PodConditionType) corev1.PodCondition {
	i := slices.IndexFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return corev1.PodCondition{}
	}
	return s.Conditions[i]
}

func TestTransitionTimeMovesOnlyWithTheStatus(t *testing.T) {
	past := metav1.NewTime(time.Now().Add(-time.Hour))
	previous := corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: past},
		{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, LastTransitionTime: past},
	}}
	b := &board{main: []*container{{name: "c", state: runningState, ready: true, started: true}}}
	s := b.status(&corev1.Pod{}, previous, "127.16.0.1", "127.0.0.1")
	if c := condition(s, corev1.PodReady); !c.LastTransitionTime.Equal(&past) {
		t.Error("Ready did not change, its time did")
	}
	if c := condition(s, corev1.ContainersReady); c.LastTransitionTime.Equal(&past) || c.Status != corev1.ConditionTrue {
		t.Errorf("ContainersReady changed: %+v", c)
	}
}

func TestMergeKeepsWhatOthersWrote(t *testing.T) {
	stored := corev1.PodStatus{QOSClass: corev1.PodQOSGuaranteed, Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionFalse},
	}}
	computed := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}}
	want := corev1.PodStatus{QOSClass: corev1.PodQOSGuaranteed, Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}}
	if got := Merge(computed, stored); !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestAgentRestartCountsAsARestart(t *testing.T) {
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "etcd", ContainerID: "process://x", RestartCount: 2, State: runningState}}},
	}
	c := newBoard(pod).main[0]
	if c.restarts != 3 || c.last.Terminated == nil || c.last.Terminated.ExitCode != 137 {
		t.Errorf("restarts %d, last %+v", c.restarts, c.last)
	}
}

func TestHostsNamesThePeersOfASet(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "etcd-1"},
		Spec: corev1.PodSpec{Hostname: "etcd-1", Subdomain: "etcd"}}
	text := peerHosts(pod, "127.83.71.90")
	for _, line := range []string{
		"127.0.0.1 localhost\n",
		"127.49.65.187 etcd-0 etcd-0.etcd etcd-0.etcd.default etcd-0.etcd.default.svc etcd-0.etcd.default.svc.cluster.local\n",
		"127.83.71.90 etcd-1 etcd-1.etcd ",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("hosts lacks %q:\n%s", line, text)
		}
	}
}
