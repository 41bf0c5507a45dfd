package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/etcdroll/etcdroll/test/local/pod"
)

// statusClient is the pod client that the pod controller uses. It corrects three
// habits of virtual-kubelet: statuses are written over the stored object, so
// that labels and annotations of others are never overwritten with old ones; a
// pod is removed from the API server only after its processes are gone; and none
// is removed by its name alone, which may be its successor's already.
type statusClient struct {
	client  corev1client.PodsGetter
	pods    corev1listers.PodLister
	runtime *runtime
}

// Pods implements PodsGetter.
func (c *statusClient) Pods(namespace string) corev1client.PodInterface {
	return &podsOf{PodInterface: c.client.Pods(namespace), parent: c, namespace: namespace}
}

type podsOf struct {
	corev1client.PodInterface
	parent    *statusClient
	namespace string
}

// UpdateStatus writes the worker's present status, which may be newer than the
// one passed in. A pod of another uid is left alone.
func (p *podsOf) UpdateStatus(ctx context.Context, given *corev1.Pod, _ metav1.UpdateOptions) (*corev1.Pod, error) {
	if w := p.parent.runtime.worker(given.UID); w != nil {
		given = w.Pod()
	}
	stored, err := p.parent.pods.Pods(p.namespace).Get(given.Name)
	if err != nil {
		return nil, err
	}
	written, err := p.write(ctx, stored, given)
	if apierrors.IsConflict(err) { // the cache was behind
		stored, err = p.Get(ctx, given.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		written, err = p.write(ctx, stored, given)
	}
	return written, err
}

func (p *podsOf) write(ctx context.Context, stored, given *corev1.Pod) (*corev1.Pod, error) {
	if stored.UID != given.UID {
		return stored, nil
	}
	next := stored.DeepCopy()
	next.Status = pod.Merge(given.Status, stored.Status)
	if equality.Semantic.DeepEqual(next.Status, stored.Status) {
		return stored, nil
	}
	return p.PodInterface.UpdateStatus(ctx, next, metav1.UpdateOptions{})
}

// stays says that nobody has asked for this pod's end: the API server has it, and
// it is not being deleted.
func (c *statusClient) stays(ctx context.Context, p *corev1.Pod) (bool, error) {
	stored, err := c.client.Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && stored.UID == p.UID && stored.DeletionTimestamp == nil, err
}

// Delete is the pod controller's last step. While the pod's processes live it
// waits for them, whatever the status in the API server says.
//
// A deletion that names no uid is let go: virtual-kubelet asks for it when the
// pod it has is ending and the one in the API server is not, which is so when a
// StatefulSet has made the next one. The ending pod is removed by its uid, and no
// pod that nobody has asked to delete.
func (p *podsOf) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	if opts.Preconditions == nil || opts.Preconditions.UID == nil {
		return nil
	}
	this := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name, UID: *opts.Preconditions.UID}}
	if stays, err := p.parent.stays(ctx, this); err != nil || stays {
		return err
	}
	if w := p.parent.runtime.worker(*opts.Preconditions.UID); w != nil {
		if !w.Stopping() {
			w.Stop(grace(w.Pod()))
		}
		select {
		case <-w.Done():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return p.PodInterface.Delete(ctx, name, opts)
}

// remove writes a pod's last status and deletes it for good, trying until the
// API server has answered.
func (c *statusClient) remove(ctx context.Context, gone *corev1.Pod) {
	pods := c.Pods(gone.Namespace)
	for {
		if _, err := pods.UpdateStatus(ctx, gone, metav1.UpdateOptions{}); err == nil || apierrors.IsNotFound(err) {
			break
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return
		}
	}
	now := metav1.NewDeleteOptions(0)
	now.Preconditions = metav1.NewUIDPreconditions(string(gone.UID))
	for {
		err := c.client.Pods(gone.Namespace).Delete(ctx, gone.Name, *now)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
