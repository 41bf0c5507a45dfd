package pod

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/test/local/probe"
	"github.com/etcdroll/etcdroll/test/local/sandbox"
)

// postStart runs the hook right after the container's start. A failure ends the
// container. False means that it failed.
func (w *Worker) postStart(ctx context.Context, spec *corev1.Container, process *sandbox.Process) bool {
	if spec.Lifecycle == nil || spec.Lifecycle.PostStart == nil {
		return true
	}
	ctx, cancel := w.untilEnd(ctx, process, w.end.begun)
	defer cancel()
	if err := w.hook(ctx, spec.Lifecycle.PostStart, spec, process); err != nil {
		w.event(corev1.EventTypeWarning, "FailedPostStartHook", "%v", err)
		return false
	}
	return true
}

// preStop runs the hook within the pod's grace; its failure delays nothing.
func (w *Worker) preStop(ctx context.Context, spec *corev1.Container, process *sandbox.Process) {
	if spec.Lifecycle == nil || spec.Lifecycle.PreStop == nil {
		return
	}
	ctx, cancel := w.untilEnd(ctx, process, w.end.overdue)
	defer cancel()
	if err := w.hook(ctx, spec.Lifecycle.PreStop, spec, process); err != nil {
		w.event(corev1.EventTypeWarning, "FailedPreStopHook", "%v", err)
	}
}

// untilEnd is a context that ends with the container or at the given moment.
func (w *Worker) untilEnd(ctx context.Context, process *sandbox.Process, moment <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-moment:
		case <-process.Done():
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, cancel
}

func (w *Worker) hook(ctx context.Context, h *corev1.LifecycleHandler, spec *corev1.Container, process *sandbox.Process) error {
	exec := func(ctx context.Context, command []string) (int, error) {
		return process.Exec(ctx, command, sandbox.Streams{})
	}
	if h.Sleep == nil {
		handler := corev1.ProbeHandler{HTTPGet: h.HTTPGet, Exec: h.Exec}
		return probe.For(&corev1.Probe{ProbeHandler: handler}, spec, w.podIP, exec)(ctx)
	}
	timer := time.NewTimer(time.Duration(h.Sleep.Seconds) * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
