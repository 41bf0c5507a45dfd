package pod

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/etcdroll/etcdroll/test/local/image"
	"github.com/etcdroll/etcdroll/test/local/podenv"
	"github.com/etcdroll/etcdroll/test/local/podtool" // the test binary is the containers' program
)

type nothing struct{}

func (nothing) ConfigMap(context.Context, string, string) (*corev1.ConfigMap, error) {
	return nil, errors.New("none")
}
func (nothing) Secret(context.Context, string, string) (*corev1.Secret, error) {
	return nil, errors.New("none")
}

// rig runs one pod and keeps every status it publishes.
type rig struct {
	t      *testing.T
	worker *Worker
	logs   string

	mu   sync.Mutex
	seen []corev1.PodStatus
}

func run(t *testing.T, name string, spec corev1.PodSpec) *rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &rig{t: t, logs: filepath.Join(dir, "logs")}
	host := &Host{
		PodsDir: filepath.Join(dir, "pods"), LogsDir: r.logs, RunDir: filepath.Join(dir, "run"), HostIP: "127.0.0.1",
		Images:    image.NewRegistry(map[string][]string{"tool": {"tool:" + self + " " + podtool.Command}}),
		Env:       &podenv.Resolver{Objects: nothing{}, HostIP: "127.0.0.1"},
		Addresses: &Addresses{}, Events: &record.FakeRecorder{}, BackoffBase: 300 * time.Millisecond,
		Services: func(string) string { return "" },
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name(), Name: name, UID: types.UID("uid-" + name)}, Spec: spec}
	r.worker = New(host, pod, nil, func(p *corev1.Pod) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = append(r.seen, p.Status)
	})
	go r.worker.Run(context.Background())
	t.Cleanup(func() {
		r.worker.Stop(0)
		<-r.worker.Done()
	})
	return r
}

// until waits for a published status, also a past one, that fits.
func (r *rig) until(what string, fits func(corev1.PodStatus) bool) corev1.PodStatus {
	r.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if s, found := r.find(fits); found {
			return s
		}
	}
	r.t.Fatalf("no status in which %s; last: %+v", what, r.worker.Pod().Status.ContainerStatuses)
	return corev1.PodStatus{}
}

func (r *rig) find(fits func(corev1.PodStatus) bool) (corev1.PodStatus, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.seen, fits)
	if i < 0 {
		return corev1.PodStatus{}, false
	}
	return r.seen[i], true
}

func (r *rig) ended() corev1.PodStatus {
	r.t.Helper()
	select {
	case <-r.worker.Done():
	case <-time.After(20 * time.Second):
		r.t.Fatal("the pod did not end")
	}
	return r.worker.Pod().Status
}

func tool(name string, args ...string) corev1.Container {
	return corev1.Container{Name: name, Image: "tool", Args: args}
}

func ready(s corev1.PodStatus) bool {
	return condition(s, corev1.PodReady).Status == corev1.ConditionTrue
}

func (r *rig) untilLog(container, text string) {
	r.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		files, _ := filepath.Glob(filepath.Join(r.logs, "*", container, "*.log"))
		for _, f := range files {
			if content, _ := os.ReadFile(f); strings.Contains(string(content), text) {
				return
			}
		}
	}
	r.t.Fatalf("no log of %s says %q", container, text)
}
