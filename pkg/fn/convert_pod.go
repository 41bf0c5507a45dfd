package fn

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// toPod reduces a pod to what decides; nil is a pod that does not exist. What
// it runs is told by its revision label and never by its spec, which webhooks
// may have rewritten.
func toPod(pod *corev1.Pod, owner types.UID) guard.Pod {
	if pod == nil {
		return guard.Pod{}
	}
	p := guard.Pod{
		Exists:       true,
		UID:          string(pod.UID),
		Owned:        ownedBy(pod, owner),
		Revision:     pod.Labels[events.PodRevisionLabel],
		Terminating:  pod.DeletionTimestamp != nil,
		Created:      pod.CreationTimestamp.Time,
		ReadyChanged: pod.CreationTimestamp.Time, // until the condition says otherwise
		Node:         pod.Spec.NodeName,
	}
	if c := condition(pod, corev1.PodReady); c != nil {
		p.Ready = c.Status == corev1.ConditionTrue && pod.Status.Phase == corev1.PodRunning
		if !c.LastTransitionTime.IsZero() {
			p.ReadyChanged = c.LastTransitionTime.Time
		}
	}
	if etcd, found := findEtcd(&pod.Spec); found {
		if s := statusOf(pod, etcd.container.Name); s != nil && s.State.Running != nil {
			p.Started = s.State.Running.StartedAt.Time
		}
	}
	if !p.Ready {
		p.Trouble, p.Detail = trouble(pod)
	}
	return p
}

func ownedBy(pod *corev1.Pod, owner types.UID) bool {
	ref := metav1.GetControllerOf(pod)
	return ref != nil && owner != "" && ref.UID == owner && ref.Kind == "StatefulSet"
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// troubles are the kubelet's reasons for a container that waits, as far as
// waiting longer does not help.
var troubles = map[string]guard.Trouble{
	"CrashLoopBackOff":           guard.CrashLoop,
	"ErrImagePull":               guard.ImageTrouble,
	"ImagePullBackOff":           guard.ImageTrouble,
	"InvalidImageName":           guard.ImageTrouble,
	"ErrImageNeverPull":          guard.ImageTrouble,
	"ImageInspectError":          guard.ImageTrouble,
	"RegistryUnavailable":        guard.ImageTrouble,
	"SignatureValidationFailed":  guard.ImageTrouble,
	"CreateContainerConfigError": guard.ConfigTrouble,
	"CreateContainerError":       guard.ConfigTrouble,
	"RunContainerError":          guard.ConfigTrouble,
	"PostStartHookError":         guard.ConfigTrouble,
}

// trouble says why a pod that is not Ready will not become so by waiting, and
// gives the cluster's own words also for one that may.
func trouble(pod *corev1.Pod) (guard.Trouble, string) {
	if c := condition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return guard.Unschedulable, oneLine(fmt.Sprintf("%s: %s", c.Reason, c.Message), detailLength)
	}
	words := ""
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		kind, text := containerTrouble(s)
		if kind != guard.NoTrouble {
			return kind, oneLine(text, detailLength)
		}
		if words == "" {
			words = text
		}
	}
	if words == "" && pod.Status.Phase != corev1.PodRunning {
		words = fmt.Sprintf("phase %s %s %s", pod.Status.Phase, pod.Status.Reason, pod.Status.Message)
	}
	return guard.NoTrouble, oneLine(words, detailLength)
}

// detailLength keeps one pod's words from filling a message.
const detailLength = 300

// containerTrouble looks at one container. One exit alone is no trouble yet:
// the kubelet restarts it at once, and the first restart often mends it.
func containerTrouble(s corev1.ContainerStatus) (guard.Trouble, string) {
	last := ""
	if t := s.LastTerminationState.Terminated; t != nil {
		last = fmt.Sprintf("; last exit code %d (%s)", t.ExitCode, t.Reason)
	}
	switch {
	case s.State.Waiting != nil:
		w := s.State.Waiting
		return troubles[w.Reason], fmt.Sprintf("container %s waits: %s %s%s", s.Name, w.Reason, w.Message, last)
	case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
		t := s.State.Terminated
		kind := guard.NoTrouble
		if s.RestartCount > 0 {
			kind = guard.CrashLoop
		}
		return kind, fmt.Sprintf("container %s ended with exit code %d (%s) %s", s.Name, t.ExitCode, t.Reason, t.Message)
	case s.State.Running != nil && !s.Ready:
		return guard.NoTrouble, fmt.Sprintf("container %s runs and is not ready%s", s.Name, last)
	}
	return guard.NoTrouble, ""
}
