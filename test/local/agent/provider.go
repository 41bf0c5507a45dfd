package agent

import (
	"context"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/etcdroll/etcdroll/test/local/pod"
)

// runtime is every pod of this agent, on all its nodes.
type runtime struct {
	host    *pod.Host
	changed func() // called after every change of a pod

	mu      sync.Mutex
	byUID   map[types.UID]*pod.Worker
	current map[types.NamespacedName]types.UID // the latest pod of each name
}

func newRuntime(host *pod.Host, changed func()) *runtime {
	return &runtime{host: host, changed: changed, byUID: map[types.UID]*pod.Worker{}, current: map[types.NamespacedName]types.UID{}}
}

func (r *runtime) worker(uid types.UID) *pod.Worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byUID[uid]
}

func (r *runtime) named(namespace, name string) *pod.Worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byUID[r.current[types.NamespacedName{Namespace: namespace, Name: name}]]
}

func (r *runtime) all() []*pod.Worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*pod.Worker, 0, len(r.byUID))
	for _, w := range r.byUID {
		out = append(out, w)
	}
	return out
}

// start runs a pod once. A pod of the same name that still runs is ended first:
// the API server has already forgotten it.
func (r *runtime) start(ctx context.Context, p *corev1.Pod, publish func(*corev1.Pod)) {
	key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.byUID[p.UID]; known {
		return
	}
	var after <-chan struct{}
	if old := r.byUID[r.current[key]]; old != nil {
		old.Stop(minGrace)
		after = old.Done()
	}
	w := pod.New(r.host, p, after, func(now *corev1.Pod) {
		publish(now)
		r.changed()
	})
	r.byUID[p.UID], r.current[key] = w, p.UID
	go w.Run(ctx)
}

func (r *runtime) forget(p *corev1.Pod) {
	key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byUID, p.UID)
	if r.current[key] == p.UID {
		delete(r.current, key)
	}
	r.changed()
}

// minGrace is what a container gets at least, as with the kubelet.
const minGrace = time.Second

// grace of a pod that is to end: what the deletion says, else what the pod says.
func grace(p *corev1.Pod) time.Duration {
	seconds := int64(30)
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		seconds = *s
	}
	if s := p.DeletionGracePeriodSeconds; s != nil {
		seconds = *s
	}
	return max(time.Duration(seconds)*time.Second, minGrace)
}

// provider is one node's view of the runtime, as virtual-kubelet's pod
// controller wants it.
type provider struct {
	ctx     context.Context
	runtime *runtime
	node    string
	pods    corev1listers.PodLister
	api     *statusClient
	notify  func(*corev1.Pod)
}

func (p *provider) NotifyPods(_ context.Context, notify func(*corev1.Pod)) { p.notify = notify }

func (p *provider) CreatePod(_ context.Context, created *corev1.Pod) error {
	p.runtime.start(p.ctx, created, p.notify)
	return nil
}

func (p *provider) UpdatePod(_ context.Context, updated *corev1.Pod) error {
	if w := p.runtime.worker(updated.UID); w != nil {
		w.Update(updated)
	}
	return nil
}

// DeletePod begins the pod's end and returns at once; end does the rest. As with
// the kubelet, no pod ends that somebody has not asked to delete.
func (p *provider) DeletePod(ctx context.Context, deleted *corev1.Pod) error {
	stays, err := p.api.stays(ctx, deleted)
	if err == nil && !stays {
		p.end(deleted)
	}
	return err
}

// end stops a pod and, once nothing of it runs, removes it from the API server.
// It may be called any number of times, each with the latest grace.
func (p *provider) end(deleted *corev1.Pod) {
	w := p.runtime.worker(deleted.UID)
	if w == nil { // an earlier agent's pod, or one that never ran
		go p.api.remove(p.ctx, deleted)
		return
	}
	first := !w.Stopping()
	w.Stop(grace(deleted))
	if first {
		p.runtime.changed() // no longer a backend of its Services
		go func() {
			<-w.Done()
			p.api.remove(p.ctx, w.Pod())
			p.runtime.forget(deleted)
		}()
	}
}

// GetPod must not show an old pod under the name of its successor: the pod
// controller would take the successor for running. Nor a successor on another
// node: when the old pod is gone from this one, it would be deleted.
func (p *provider) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	w := p.runtime.named(namespace, name)
	if w == nil || w.Pod().Spec.NodeName != p.node {
		return nil, errdefs.NotFoundf("pod %s/%s is not on this node", namespace, name)
	}
	mine := w.Pod()
	if stored, err := p.pods.Pods(namespace).Get(name); err == nil && stored.UID != mine.UID {
		return nil, errdefs.NotFoundf("pod %s/%s on this node is an earlier one", namespace, name)
	}
	return mine, nil
}

func (p *provider) GetPodStatus(ctx context.Context, namespace, name string) (*corev1.PodStatus, error) {
	found, err := p.GetPod(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &found.Status, nil
}

func (p *provider) GetPods(context.Context) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	for _, w := range p.runtime.all() {
		if found := w.Pod(); found.Spec.NodeName == p.node {
			out = append(out, found)
		}
	}
	return out, nil
}
