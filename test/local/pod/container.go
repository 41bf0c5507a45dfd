package pod

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/test/local/image"
	"github.com/etcdroll/etcdroll/test/local/sandbox"
)

// runInit runs the init containers one after another. False means that the pod
// ends, by order or because one failed for good.
func (w *Worker) runInit(ctx context.Context) bool {
	for i := range w.base.Spec.InitContainers {
		spec, c := &w.base.Spec.InitContainers[i], w.board.init[i]
		if spec.RestartPolicy != nil {
			w.event(corev1.EventTypeWarning, "Unsupported", "init container %s: a restartPolicy of its own is not supported by the local cluster", spec.Name)
			return false
		}
		w.loop(ctx, spec, c, func(code int) bool {
			return code != 0 && w.base.Spec.RestartPolicy != corev1.RestartPolicyNever
		})
		if !succeeded(c) || w.Stopping() {
			return false
		}
	}
	return true
}

// runContainer keeps one container running as its restart policy wants.
func (w *Worker) runContainer(ctx context.Context, spec *corev1.Container, c *container) {
	w.loop(ctx, spec, c, func(code int) bool {
		policy := w.base.Spec.RestartPolicy
		return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
	})
}

func (w *Worker) loop(ctx context.Context, spec *corev1.Container, c *container, again func(code int) bool) {
	backoff := Backoff{Base: w.host.BackoffBase, Cap: 30 * w.host.BackoffBase}
	for {
		img, env, ok := w.prepare(ctx, spec, c)
		if !ok {
			return
		}
		began := time.Now()
		t := w.once(ctx, spec, c, img, env)
		w.board.ended(c, t)
		if w.Stopping() || ctx.Err() != nil || !again(int(t.ExitCode)) {
			return
		}
		pause := backoff.After(time.Since(began))
		if pause > 0 {
			w.event(corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s", spec.Name)
			w.crashLoop(c, t, pause)
			if !w.pause(ctx, pause) {
				w.board.ended(c, t)
				return
			}
		}
		w.board.again(c)
	}
}

func (w *Worker) crashLoop(c *container, t corev1.ContainerStateTerminated, pause time.Duration) {
	w.board.update(func() {
		c.last = corev1.ContainerState{Terminated: &t}
		c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff",
			Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", pause, c.name, w.base.Name)}}
	})
}

// prepare waits until image and environment can be had. False: the pod ends.
func (w *Worker) prepare(ctx context.Context, spec *corev1.Container, c *container) (image.Image, map[string]string, bool) {
	pull := Backoff{Base: w.host.BackoffBase, Cap: 30 * w.host.BackoffBase}
	for {
		img, err := w.host.Images.Resolve(spec.Image)
		if err != nil {
			w.event(corev1.EventTypeWarning, "Failed", "%v", err)
			w.board.wait(c, "ErrImagePull", err.Error())
			if pause := pull.After(0); pause > 0 {
				w.board.wait(c, "ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %v", spec.Image, err))
				if !w.pause(ctx, pause) {
					return img, nil, false
				}
			} else if !w.pause(ctx, retryEvery) {
				return img, nil, false
			}
			continue
		}
		env, err := w.host.Env.Resolve(ctx, w.Pod(), spec, w.podIP)
		if err == nil {
			return img, env, !w.Stopping()
		}
		w.board.wait(c, "CreateContainerConfigError", err.Error())
		if !w.pause(ctx, retryEvery) {
			return img, nil, false
		}
	}
}

// once runs the container one time and says how it ended.
func (w *Worker) once(ctx context.Context, spec *corev1.Container, c *container, img image.Image, env map[string]string) corev1.ContainerStateTerminated {
	id := fmt.Sprintf("process://%s-%s-%d", w.base.UID, spec.Name, c.restarts)
	process, err := w.start(spec, c, img, env)
	if err != nil {
		w.event(corev1.EventTypeWarning, "Failed", "Error: %v", err)
		now := metav1.Now()
		return corev1.ContainerStateTerminated{ExitCode: 128, Reason: startReason(err), Message: err.Error(),
			StartedAt: now, FinishedAt: now, ContainerID: id}
	}
	started := metav1.Now()
	w.setLive(spec.Name, process)
	defer w.setLive(spec.Name, nil)
	if !w.postStart(ctx, spec, process) {
		process.Signal(unix.SIGKILL)
	}
	w.board.running(c, id, img.ID, spec.ReadinessProbe == nil && spec.StartupProbe == nil, spec.StartupProbe == nil)
	w.event(corev1.EventTypeNormal, "Started", "Started container %s", spec.Name)
	w.supervise(ctx, spec, c, process)
	return terminated(process.Exit(), id, started)
}

func startReason(err error) string {
	var start *sandbox.StartError
	if errors.As(err, &start) {
		return "StartError"
	}
	return "ContainerCannotRun"
}

func terminated(exit sandbox.Exit, id string, started metav1.Time) corev1.ContainerStateTerminated {
	t := corev1.ContainerStateTerminated{
		ExitCode: int32(exit.Code), Signal: int32(exit.Signal), Reason: "Completed",
		StartedAt: started, FinishedAt: metav1.NewTime(exit.At), ContainerID: id,
	}
	if exit.Code != 0 {
		t.Reason = "Error"
	}
	return t
}

func (w *Worker) setLive(name string, process *sandbox.Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if process == nil {
		delete(w.live, name)
		return
	}
	w.live[name] = process
}
