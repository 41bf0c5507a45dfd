package pod

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// container is what is known of one container; the status is computed from it.
type container struct {
	name     string
	image    string
	imageID  string
	id       string // of the present or last run
	restarts int32
	started  bool // running and past its startup probe
	ready    bool
	state    corev1.ContainerState
	last     corev1.ContainerState // the run before the present one
}

// board holds the state of all containers of a pod and tells when it changes.
type board struct {
	mu      sync.Mutex
	init    []*container
	main    []*container
	began   metav1.Time // status.startTime
	final   bool        // nothing runs and nothing will run again
	changed chan struct{}
}

func newBoard(pod *corev1.Pod) *board {
	b := &board{changed: make(chan struct{}, 1), began: metav1.Now()}
	if pod.Status.StartTime != nil {
		b.began = *pod.Status.StartTime
	}
	b.init = fresh(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, "PodInitializing")
	waiting := "ContainerCreating"
	if len(pod.Spec.InitContainers) > 0 {
		waiting = "PodInitializing"
	}
	b.main = fresh(pod.Spec.Containers, pod.Status.ContainerStatuses, waiting)
	return b
}

// fresh starts from what the API server knows of an earlier agent's runs: their
// processes died with that agent, so each counts as one restart.
func fresh(specs []corev1.Container, known []corev1.ContainerStatus, waiting string) []*container {
	var out []*container
	for _, spec := range specs {
		c := &container{name: spec.Name, image: spec.Image}
		c.state.Waiting = &corev1.ContainerStateWaiting{Reason: waiting}
		for _, k := range known {
			if k.Name != spec.Name || k.ContainerID == "" {
				continue
			}
			c.restarts, c.last, c.id = k.RestartCount+1, k.State, k.ContainerID
			if run := k.State.Running; run != nil {
				c.last = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: 137, Signal: 9, Reason: "NodeAgentStopped", StartedAt: run.StartedAt,
					FinishedAt: metav1.Now(), ContainerID: k.ContainerID,
				}}
			}
			if c.last.Terminated == nil {
				c.last = k.LastTerminationState
			}
		}
		out = append(out, c)
	}
	return out
}

// update changes the board under its lock and wakes the publisher.
func (b *board) update(change func()) {
	b.mu.Lock()
	change()
	b.mu.Unlock()
	b.wake()
}

func (b *board) wake() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

func (b *board) wait(c *container, reason, message string) {
	b.update(func() {
		c.ready, c.started = false, false
		c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	})
}

func (b *board) running(c *container, id, imageID string, ready, started bool) {
	b.update(func() {
		c.id, c.imageID, c.ready, c.started = id, imageID, ready, started
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	})
}

// ended records the end of a run. StartedAt is zero if it never ran.
func (b *board) ended(c *container, t corev1.ContainerStateTerminated) {
	b.update(func() {
		c.ready, c.started = false, false
		c.state = corev1.ContainerState{Terminated: &t}
	})
}

// again moves the ended run into the past before the next one.
func (b *board) again(c *container) {
	b.update(func() {
		if c.state.Terminated != nil {
			c.last = c.state
		}
		c.restarts++
	})
}

func (b *board) mark(c *container, ready, started bool) {
	b.update(func() {
		if c.state.Running != nil {
			c.ready, c.started = ready, started
		}
	})
}
