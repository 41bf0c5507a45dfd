// Package pod runs one pod: volumes, init containers, containers with probes and
// restarts, and an orderly end.
package pod

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/etcdroll/etcdroll/test/local/image"
	"github.com/etcdroll/etcdroll/test/local/podenv"
	"github.com/etcdroll/etcdroll/test/local/sandbox"
	"github.com/etcdroll/etcdroll/test/local/volume"
)

// Host is what all pods of the agent share.
type Host struct {
	PodsDir     string // each pod gets PodsDir/UID
	LogsDir     string // logs outlive the pod: LogsDir/NAMESPACE_NAME_UID/CONTAINER/N.log
	RunDir      string // process records of containers
	Cgroup      string // directory of the containers' cgroups; "" for none
	HostIP      string
	Images      *image.Registry
	Env         *podenv.Resolver
	Volumes     volume.Sources
	Claims      volume.Claims
	Addresses   *Addresses
	Events      record.EventRecorder
	BackoffBase time.Duration
	Services    func(namespace string) string // lines for /etc/hosts
}

// Worker runs one pod from its creation to its end.
type Worker struct {
	host    *Host
	board   *board
	volumes *volume.Set
	publish func(*corev1.Pod)
	after   <-chan struct{} // a predecessor of the same name must be gone first

	base *corev1.Pod // as it was created: name, uid and spec

	mu     sync.Mutex
	pod    *corev1.Pod // with the latest metadata
	status corev1.PodStatus
	live   map[string]*sandbox.Process // running containers by name

	podIP   string
	end     *ending
	done    chan struct{}
	refresh chan struct{}
}

// New prepares a worker. publish is called, never concurrently, with every new
// status. Nothing runs before Run.
func New(host *Host, pod *corev1.Pod, after <-chan struct{}, publish func(*corev1.Pod)) *Worker {
	w := &Worker{
		host: host, board: newBoard(pod), publish: publish, after: after,
		base: pod.DeepCopy(), pod: pod.DeepCopy(), status: *pod.Status.DeepCopy(), live: map[string]*sandbox.Process{},
		end: newEnding(), done: make(chan struct{}), refresh: make(chan struct{}, 1),
	}
	return w
}

// Done is closed when every process of the pod is gone and the last status is computed.
func (w *Worker) Done() <-chan struct{} { return w.done }

// Stop tells the pod to end within grace from now. A later call can only shorten that.
func (w *Worker) Stop(grace time.Duration) { w.end.within(grace) }

// Stopping says whether Stop was called.
func (w *Worker) Stopping() bool {
	select {
	case <-w.end.begun:
		return true
	default:
		return false
	}
}

// Refresh brings volumes up to date soon.
func (w *Worker) Refresh() {
	select {
	case w.refresh <- struct{}{}:
	default:
	}
}

// Update takes new metadata (labels, annotations) of the same pod.
func (w *Worker) Update(pod *corev1.Pod) {
	w.mu.Lock()
	w.pod = pod.DeepCopy()
	w.mu.Unlock()
	w.board.wake()
	w.Refresh()
}

// Pod returns the pod with its present status.
func (w *Worker) Pod() *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	pod := w.pod.DeepCopy()
	pod.Status = *w.status.DeepCopy()
	return pod
}

// Process returns the running process of a container, or nil.
func (w *Worker) Process(container string) *sandbox.Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live[container]
}

// Run runs the pod to its end.
func (w *Worker) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var publishing sync.WaitGroup
	stopPublishing := make(chan struct{})
	publishing.Go(func() { w.publishChanges(stopPublishing) })
	w.run(ctx)
	w.board.update(func() { w.board.final = true })
	close(stopPublishing)
	publishing.Wait()
	w.host.Addresses.Release(w.podIP, w.base.UID)
	_ = os.RemoveAll(w.dir())
	close(w.done)
}

func (w *Worker) run(ctx context.Context) {
	if w.after != nil {
		<-w.after
	}
	if !w.claimAddress(ctx) || !w.mountVolumes(ctx) {
		w.abandon()
		return
	}
	keeping, stopKeeping := context.WithCancel(ctx)
	defer stopKeeping()
	go w.keepVolumes(keeping)
	if !w.runInit(ctx) {
		w.abandon()
		return
	}
	var containers sync.WaitGroup
	for i := range w.base.Spec.Containers {
		containers.Go(func() { w.runContainer(ctx, &w.base.Spec.Containers[i], w.board.main[i]) })
	}
	containers.Wait()
}

// abandon marks containers that never ran as ended.
func (w *Worker) abandon() {
	w.board.update(func() {
		for _, c := range append(w.board.init, w.board.main...) {
			if c.state.Waiting != nil {
				c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "the pod ended before the container ran",
				}}
			}
		}
	})
}

func (w *Worker) publishChanges(stop <-chan struct{}) {
	w.publishOnce()
	for {
		select {
		case <-w.board.changed:
			w.publishOnce()
		case <-stop:
			w.publishOnce()
			return
		}
	}
}

func (w *Worker) publishOnce() {
	w.mu.Lock()
	w.status = w.board.status(w.pod, w.status, w.podIP, w.host.HostIP)
	w.mu.Unlock()
	w.publish(w.Pod())
}

func (w *Worker) dir() string { return filepath.Join(w.host.PodsDir, string(w.base.UID)) }

func (w *Worker) event(kind, reason, format string, args ...any) {
	w.host.Events.Eventf(w.Pod(), kind, reason, format, args...)
}
