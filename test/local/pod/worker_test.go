package pod

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/test/local/podip"
	"github.com/etcdroll/etcdroll/test/local/podtool"
)

func TestStopIsGraceful(t *testing.T) {
	r := run(t, "p", corev1.PodSpec{Containers: []corev1.Container{tool("c", "pause")}})
	up := r.until("the pod is ready", ready)
	if up.PodIP != podip.For(t.Name(), "p") || up.Phase != corev1.PodRunning {
		t.Errorf("status = %+v", up)
	}
	r.untilLog("c", "pausing")
	r.worker.Stop(time.Hour)
	s := r.ended()
	if term := s.ContainerStatuses[0].State.Terminated; term == nil || term.ExitCode != 0 || s.Phase != corev1.PodSucceeded || ready(s) {
		t.Errorf("status = %+v", s)
	}
}

func TestGraceEndsInSIGKILL(t *testing.T) {
	r := run(t, "p", corev1.PodSpec{Containers: []corev1.Container{tool("c", "stubborn")}})
	r.untilLog("c", "ignoring")
	began := time.Now()
	r.worker.Stop(time.Second)
	s := r.ended()
	if took := time.Since(began); took < time.Second {
		t.Errorf("killed after %s, before its grace was over", took)
	}
	if term := s.ContainerStatuses[0].State.Terminated; term.ExitCode != 137 || term.Signal != 9 || s.Phase != corev1.PodFailed {
		t.Errorf("status = %+v", s)
	}
}

func TestASecondStopShortensTheGrace(t *testing.T) {
	r := run(t, "p", corev1.PodSpec{Containers: []corev1.Container{tool("c", "stubborn")}})
	r.untilLog("c", "ignoring")
	r.worker.Stop(time.Hour)
	r.worker.Stop(0)
	r.ended()
}

func TestCrashLoop(t *testing.T) {
	r := run(t, "p", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{tool("c", "exit", "3")}})
	s := r.until("the container waits in a crash loop", func(s corev1.PodStatus) bool {
		w := s.ContainerStatuses[0].State.Waiting
		return w != nil && w.Reason == "CrashLoopBackOff"
	})
	c := s.ContainerStatuses[0]
	if c.RestartCount != 1 || c.LastTerminationState.Terminated.ExitCode != 3 || s.Phase != corev1.PodRunning {
		t.Errorf("the first crash must restart at once, the second must wait: %+v", c)
	}
	s = r.until("the container ran a third time", func(s corev1.PodStatus) bool { return s.ContainerStatuses[0].RestartCount == 2 })
	if s.ContainerStatuses[0].LastTerminationState.Terminated == nil {
		t.Error("no last state")
	}
}

func TestRestartPolicies(t *testing.T) {
	for _, c := range []struct {
		policy corev1.RestartPolicy
		code   string
		phase  corev1.PodPhase
	}{
		{corev1.RestartPolicyNever, "0", corev1.PodSucceeded},
		{corev1.RestartPolicyNever, "4", corev1.PodFailed},
		{corev1.RestartPolicyOnFailure, "0", corev1.PodSucceeded},
	} {
		r := run(t, "p"+c.code+strings.ToLower(string(c.policy)), corev1.PodSpec{RestartPolicy: c.policy, Containers: []corev1.Container{tool("c", "exit", c.code)}})
		if s := r.ended(); s.Phase != c.phase || s.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("%s, exit %s: %+v", c.policy, c.code, s)
		}
	}
}

func TestInitContainersRunInOrderBeforeTheOthers(t *testing.T) {
	mounts := []corev1.VolumeMount{{Name: "shared", MountPath: "/shared"}}
	first, second, main := tool("first", "exit", "0"), tool("second", "test", "/shared"), tool("main", "pause")
	second.VolumeMounts = mounts
	r := run(t, "p", corev1.PodSpec{
		Volumes:        []corev1.Volume{{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		InitContainers: []corev1.Container{first, second}, Containers: []corev1.Container{main},
	})
	s := r.until("the pod is ready", ready)
	one, two, three := s.InitContainerStatuses[0].State.Terminated, s.InitContainerStatuses[1].State.Terminated, s.ContainerStatuses[0].State.Running
	if one == nil || two == nil || one.FinishedAt.After(two.StartedAt.Time) || two.FinishedAt.After(three.StartedAt.Time) {
		t.Errorf("order: %+v, %+v, %+v", one, two, three)
	}
	failing := run(t, "q", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
		InitContainers: []corev1.Container{tool("first", "exit", "1")}, Containers: []corev1.Container{main}})
	if s := failing.ended(); s.Phase != corev1.PodFailed || s.ContainerStatuses[0].State.Running != nil {
		t.Errorf("after a failed init container: %+v", s)
	}
}

func TestUnknownImageAndBrokenCommand(t *testing.T) {
	unknown := tool("c")
	unknown.Image = "registry.local/none:v1"
	r := run(t, "p", corev1.PodSpec{Containers: []corev1.Container{unknown}})
	for _, reason := range []string{"ErrImagePull", "ImagePullBackOff"} {
		s := r.until("the container waits for "+reason, func(s corev1.PodStatus) bool {
			w := s.ContainerStatuses[0].State.Waiting
			return w != nil && w.Reason == reason
		})
		if s.Phase != corev1.PodPending {
			t.Errorf("phase = %s", s.Phase)
		}
	}
	broken := tool("c")
	broken.Command = []string{"no-such-program"}
	r = run(t, "q", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{broken}})
	if term := r.ended().ContainerStatuses[0].State.Terminated; term.ExitCode != 128 || term.Reason != "StartError" {
		t.Errorf("terminated = %+v", term)
	}
}

func TestReadinessFollowsItsProbeAndLivenessRestarts(t *testing.T) {
	serve := tool("c", "serve", podip.For(t.Name(), "p")+":8080", "/data/healthy")
	serve.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	get := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}
	serve.ReadinessProbe = &corev1.Probe{ProbeHandler: get, PeriodSeconds: 1, FailureThreshold: 1}
	serve.LivenessProbe = &corev1.Probe{ProbeHandler: get, PeriodSeconds: 1, InitialDelaySeconds: 2, FailureThreshold: 3}
	r := run(t, "p", corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{serve},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	})
	r.untilLog("c", "pausing")
	flag := filepath.Join(r.worker.dir(), "volumes", "data", "healthy")
	if err := os.WriteFile(flag, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.until("the pod is ready", ready)
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	r.until("the pod was ready and runs on unready", func(s corev1.PodStatus) bool {
		return !ready(s) && s.ContainerStatuses[0].State.Running != nil && condition(s, corev1.PodReady).Reason == "ContainersNotReady"
	})
	s := r.until("liveness restarted the container", func(s corev1.PodStatus) bool { return s.ContainerStatuses[0].RestartCount == 1 })
	if term := s.ContainerStatuses[0].LastTerminationState.Terminated; term == nil || term.ExitCode != 0 {
		t.Errorf("last state = %+v, want an orderly end after SIGTERM", term)
	}
}

func TestHooks(t *testing.T) {
	dir := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	failing := tool("c", "pause")
	failing.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
		Command: []string{"tool", podtool.Command, "test", "/data/absent"}}}}
	r := run(t, "p", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Volumes: []corev1.Volume{dir}, Containers: []corev1.Container{failing}})
	if term := r.ended().ContainerStatuses[0].State.Terminated; term == nil || term.ExitCode != 137 {
		t.Errorf("after a failed postStart hook: %+v", term)
	}
	slow := tool("c", "pause")
	slow.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}}
	r = run(t, "q", corev1.PodSpec{Containers: []corev1.Container{slow}})
	r.untilLog("c", "pausing")
	began := time.Now()
	r.worker.Stop(time.Hour)
	if s := r.ended(); time.Since(began) < time.Second || s.ContainerStatuses[0].State.Terminated.ExitCode != 0 {
		t.Errorf("ended after %s as %+v, want the preStop second first", time.Since(began), s.ContainerStatuses[0].State)
	}
	slow.Lifecycle.PreStop.Sleep.Seconds = 3600
	r = run(t, "s", corev1.PodSpec{Containers: []corev1.Container{slow}})
	r.untilLog("c", "pausing")
	r.worker.Stop(time.Second)
	r.ended() // the grace bounds the hook
}
