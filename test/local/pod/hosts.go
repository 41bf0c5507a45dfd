package pod

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/test/local/podip"
)

func (w *Worker) root(container string) string { return filepath.Join(w.dir(), "root", container) }

func (w *Worker) hosts() string {
	return peerHosts(w.base, w.podIP) + w.host.Services(w.base.Namespace)
}

// RefreshHosts rewrites /etc/hosts of the running containers. A container that
// starts at this moment has the new names already or gets them with the next change.
func (w *Worker) RefreshHosts() {
	w.mu.Lock()
	var running []string
	for name := range w.live {
		running = append(running, name)
	}
	w.mu.Unlock()
	for _, name := range running {
		etc := filepath.Join(w.root(name), "etc")
		temporary := filepath.Join(etc, ".hosts")
		if os.WriteFile(temporary, []byte(w.hosts()), 0o644) == nil {
			_ = os.Rename(temporary, filepath.Join(etc, "hosts"))
		}
	}
}

const peers = 16 // ordinals of a StatefulSet that get names

// peerHosts is the part of /etc/hosts for the pod and its set. There is no DNS, but addresses follow from names: the
// names that a headless Service would give the pods of the same StatefulSet are
// written out ahead, whether those pods exist or not.
func peerHosts(pod *corev1.Pod, podIP string) string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	sub := pod.Spec.Subdomain
	line := func(ip, host string) {
		names := []string{host}
		if sub != "" {
			service := host + "." + sub
			names = append(names, service, service+"."+pod.Namespace, service+"."+pod.Namespace+".svc",
				service+"."+pod.Namespace+".svc.cluster.local")
		}
		_, _ = fmt.Fprintf(&b, "%s %s\n", ip, strings.Join(names, " "))
	}
	cut := strings.LastIndexByte(pod.Name, '-')
	if sub == "" || cut < 0 || pod.Spec.Hostname != pod.Name {
		line(podIP, pod.Name)
		return b.String()
	}
	for i := range peers {
		peer := fmt.Sprintf("%s-%d", pod.Name[:cut], i)
		line(podip.For(pod.Namespace, peer), peer)
	}
	return b.String()
}
