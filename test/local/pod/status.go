package pod

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditions that this agent owns; all others are kept as they are.
var ownConditions = []corev1.PodConditionType{
	corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady,
}

// status computes the pod's status from its containers. previous gives what
// others own in it and the times of conditions that do not change.
func (b *board) status(pod *corev1.Pod, previous corev1.PodStatus, podIP, hostIP string) corev1.PodStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := *previous.DeepCopy()
	s.ObservedGeneration = pod.Generation
	s.StartTime = b.began.DeepCopy()
	s.HostIP, s.HostIPs = hostIP, []corev1.HostIP{{IP: hostIP}}
	if podIP != "" {
		s.PodIP, s.PodIPs = podIP, []corev1.PodIP{{IP: podIP}}
	}
	s.InitContainerStatuses = statuses(b.init, true)
	s.ContainerStatuses = statuses(b.main, false)
	s.Phase = b.phase(pod.Spec.RestartPolicy)
	b.conditions(&s, podIP != "")
	return s
}

func statuses(containers []*container, init bool) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range containers {
		started := c.started
		ready := c.ready
		if init { // an init container is ready once it has succeeded
			ready = succeeded(c)
			started = c.state.Running != nil
		}
		out = append(out, corev1.ContainerStatus{
			Name: c.name, Image: c.image, ImageID: c.imageID, ContainerID: c.id,
			RestartCount: c.restarts, Ready: ready, Started: &started,
			State: *c.state.DeepCopy(), LastTerminationState: *c.last.DeepCopy(),
		})
	}
	return out
}

func succeeded(c *container) bool {
	return c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
}

func initialized(containers []*container) bool {
	return !slices.ContainsFunc(containers, func(c *container) bool { return !succeeded(c) })
}

// phase follows the kubelet's rules.
func (b *board) phase(policy corev1.RestartPolicy) corev1.PodPhase {
	all := append(slices.Clone(b.init), b.main...)
	if b.final {
		for _, c := range all {
			if !succeeded(c) {
				return corev1.PodFailed
			}
		}
		return corev1.PodSucceeded
	}
	if !initialized(b.init) {
		return corev1.PodPending
	}
	for _, c := range b.main {
		if c.state.Waiting != nil && c.last.Terminated == nil {
			return corev1.PodPending
		}
	}
	return corev1.PodRunning
}

func (b *board) conditions(s *corev1.PodStatus, sandboxed bool) {
	var unready []string
	for _, c := range b.main {
		if !c.ready {
			unready = append(unready, c.name)
		}
	}
	ready := corev1.PodCondition{Status: corev1.ConditionTrue}
	switch {
	case s.Phase == corev1.PodSucceeded:
		ready = corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "PodCompleted"}
	case s.Phase == corev1.PodFailed:
		ready = corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "PodFailed"}
	case len(unready) > 0:
		ready = corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "ContainersNotReady",
			Message: fmt.Sprintf("containers with unready status: [%s]", strings.Join(unready, " "))}
	}
	isInit := corev1.PodCondition{Status: corev1.ConditionTrue}
	if !initialized(b.init) {
		isInit = corev1.PodCondition{Status: corev1.ConditionFalse, Reason: "ContainersNotInitialized"}
	}
	setCondition(s, corev1.PodReadyToStartContainers, corev1.PodCondition{Status: truth(sandboxed && !b.final)})
	setCondition(s, corev1.PodInitialized, isInit)
	setCondition(s, corev1.ContainersReady, ready)
	setCondition(s, corev1.PodReady, ready)
}

func truth(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// setCondition keeps lastTransitionTime while the condition's status stays.
func setCondition(s *corev1.PodStatus, kind corev1.PodConditionType, c corev1.PodCondition) {
	c.Type, c.LastTransitionTime, c.ObservedGeneration = kind, metav1.Now(), s.ObservedGeneration
	for i, old := range s.Conditions {
		if old.Type != kind {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		s.Conditions[i] = c
		return
	}
	s.Conditions = append(s.Conditions, c)
}

// Merge puts the conditions that others own (the scheduler's, a disruption's)
// from the object in the API server into a status computed here.
func Merge(computed corev1.PodStatus, stored corev1.PodStatus) corev1.PodStatus {
	out := *computed.DeepCopy()
	out.Conditions = nil
	for _, c := range stored.Conditions {
		if !slices.Contains(ownConditions, c.Type) {
			out.Conditions = append(out.Conditions, c)
		}
	}
	for _, c := range computed.Conditions {
		if slices.Contains(ownConditions, c.Type) {
			out.Conditions = append(out.Conditions, c)
		}
	}
	out.QOSClass, out.NominatedNodeName = stored.QOSClass, stored.NominatedNodeName
	return out
}
