package pod

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/etcdroll/etcdroll/test/local/probe"
	"github.com/etcdroll/etcdroll/test/local/sandbox"
)

// supervise probes a running container and returns when its process is gone.
func (w *Worker) supervise(ctx context.Context, spec *corev1.Container, c *container, process *sandbox.Process) {
	probing, stopProbing := context.WithCancel(ctx)
	defer stopProbing()
	unhealthy := make(chan *corev1.Probe, 1)
	p := &probes{w: w, spec: spec, c: c, process: process, unhealthy: unhealthy}
	go p.run(probing)
	select {
	case <-process.Done():
	case <-ctx.Done():
		process.Signal(unix.SIGKILL)
	case failed := <-unhealthy:
		stopProbing()
		w.event(corev1.EventTypeNormal, "Killing", "Container %s failed a probe, will be restarted", spec.Name)
		w.terminate(process, w.grace(failed))
	case <-w.end.begun:
		// From here on nobody reads unhealthy: no probe restarts a pod that ends.
		w.event(corev1.EventTypeNormal, "Killing", "Stopping container %s", spec.Name)
		w.preStop(ctx, spec, process)
		process.Signal(unix.SIGTERM)
		select {
		case <-process.Done():
		case <-w.end.overdue:
			process.Signal(unix.SIGKILL)
		}
	}
	<-process.Done()
}

// terminate ends a container of a pod that lives on: SIGTERM, then SIGKILL after
// the grace or when the pod itself is told to end and overdue.
func (w *Worker) terminate(process *sandbox.Process, grace time.Duration) {
	process.Signal(unix.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-process.Done():
	case <-timer.C:
		process.Signal(unix.SIGKILL)
	case <-w.end.overdue:
		process.Signal(unix.SIGKILL)
	}
}

// grace of a restart: the probe's own, else the pod's.
func (w *Worker) grace(failed *corev1.Probe) time.Duration {
	seconds := int64(30)
	if s := w.base.Spec.TerminationGracePeriodSeconds; s != nil {
		seconds = *s
	}
	if failed.TerminationGracePeriodSeconds != nil {
		seconds = *failed.TerminationGracePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}

// probes are the probes of one run of a container.
type probes struct {
	w         *Worker
	spec      *corev1.Container
	c         *container
	process   *sandbox.Process
	unhealthy chan<- *corev1.Probe
}

// run probes until the context ends: the startup probe first, then both others.
func (p *probes) run(ctx context.Context) {
	if p.spec.StartupProbe != nil && !p.startup(ctx) {
		return
	}
	p.w.board.mark(p.c, p.spec.ReadinessProbe == nil, true)
	if p.spec.LivenessProbe != nil {
		go probe.Run(ctx, clock.RealClock{}, p.spec.LivenessProbe, true, p.check(p.spec.LivenessProbe), func(e probe.Event) {
			p.complain("Liveness", e)
			if e.Reached && !e.OK {
				p.fail(p.spec.LivenessProbe)
			}
		})
	}
	if p.spec.ReadinessProbe != nil {
		probe.Run(ctx, clock.RealClock{}, p.spec.ReadinessProbe, false, p.check(p.spec.ReadinessProbe), func(e probe.Event) {
			p.complain("Readiness", e)
			if e.Reached {
				p.w.board.mark(p.c, e.OK, true)
			}
		})
	}
}

func (p *probes) startup(ctx context.Context) bool {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	started := false
	probe.Run(ctx, clock.RealClock{}, p.spec.StartupProbe, false, p.check(p.spec.StartupProbe), func(e probe.Event) {
		p.complain("Startup", e)
		if e.Reached {
			started = e.OK
			stop()
			if !e.OK {
				p.fail(p.spec.StartupProbe)
			}
		}
	})
	return started
}

func (p *probes) check(spec *corev1.Probe) probe.Check {
	return probe.For(spec, p.spec, p.w.podIP, func(ctx context.Context, command []string) (int, error) {
		return p.process.Exec(ctx, command, sandbox.Streams{})
	})
}

func (p *probes) complain(kind string, e probe.Event) {
	if e.Err != nil && !p.w.Stopping() {
		p.w.event(corev1.EventTypeWarning, "Unhealthy", "%s probe failed: %v", kind, e.Err)
	}
}

func (p *probes) fail(spec *corev1.Probe) {
	select {
	case p.unhealthy <- spec:
	default:
	}
}
