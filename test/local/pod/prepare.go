package pod

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/test/local/volume"
)

// pause waits; false means that the pod is told to end.
func (w *Worker) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.end.begun:
		return false
	case <-ctx.Done():
		return false
	}
}

const retryEvery = 250 * time.Millisecond

func (w *Worker) claimAddress(ctx context.Context) bool {
	for tries := 0; ; tries++ {
		ip, err := w.host.HostIP, error(nil)
		if !w.base.Spec.HostNetwork {
			ip, err = w.host.Addresses.Claim(w.base.Namespace, w.base.Name, w.base.UID)
		}
		if err == nil {
			w.mu.Lock()
			w.podIP = ip
			w.mu.Unlock()
			w.board.wake()
			return true
		}
		if tries == 0 {
			w.event(corev1.EventTypeWarning, "FailedCreatePodSandBox", "%v", err)
		}
		if !w.pause(ctx, retryEvery) {
			return false
		}
	}
}

func (w *Worker) mountVolumes(ctx context.Context) bool {
	w.volumes = &volume.Set{Dir: filepath.Join(w.dir(), "volumes"), PodIP: w.podIP, Sources: w.host.Volumes, Claims: w.host.Claims}
	said := ""
	for {
		_, err := w.volumes.Sync(ctx, w.Pod())
		if err == nil {
			return true
		}
		if err.Error() != said {
			said = err.Error()
			w.event(corev1.EventTypeWarning, "FailedMount", "%v", err)
		}
		if !w.pause(ctx, retryEvery) {
			return false
		}
	}
}

// keepVolumes follows changed sources and renews tokens while the pod runs.
func (w *Worker) keepVolumes(ctx context.Context) {
	var timer <-chan time.Time
	for {
		renew, err := w.volumes.Sync(ctx, w.Pod())
		switch {
		case errors.Is(err, context.Canceled):
			return
		case err != nil:
			timer = time.After(5 * time.Second)
		case !renew.IsZero():
			timer = time.After(max(time.Until(renew), time.Second))
		}
		select {
		case <-w.refresh:
		case <-timer:
		case <-ctx.Done():
			return
		}
	}
}
