package pulumi

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

const (
	upWithin   = 3 * time.Minute
	noopWithin = 90 * time.Second // on a machine that is busy; Node and the engine need it to start
)

// world is one namespace with trigger and function, and one stack.
type world struct {
	*testing.T
	ctx       context.Context
	engine    *engine
	namespace string
	dir       string // of the stack
	image     string
	function  *product.Part
	observer  *observer.Observer
	mark      observer.Mark
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, ctx: context.Background(), dir: t.TempDir(), image: etcdset.Image("3.6.16")}
	var err error
	w.engine, err = built()
	must(t, err)
	name, remove, err := shared.Namespace(w.ctx, "pulumi")
	must(t, err)
	t.Cleanup(remove)
	w.namespace = name
	w.install()
	return w
}

// install runs the product with the right to delete pods, so that a broken pod
// is recovered by a new template.
func (w *world) install() {
	w.Helper()
	built, err := programs()
	must(w.T, err)
	place, err := product.Install(w.ctx, shared, built, w.namespace, true)
	must(w.T, err)
	w.function = w.part(place.Function())
	w.part(place.Trigger(w.function.URL, "--leader-elect=false"))
}

func (w *world) part(p *product.Part, err error) *product.Part {
	w.Helper()
	must(w.T, err)
	w.Cleanup(func() {
		p.Stop()
		if w.Failed() {
			w.Logf("log of this part: %s", p.Log())
		}
	})
	return p
}

// manifest writes the owner's manifest with a note in the pod template.
func (w *world) manifest(note string) string {
	w.Helper()
	text, err := os.ReadFile("programs/etcd.yaml")
	must(w.T, err)
	filled := strings.NewReplacer("NAMESPACE", w.namespace, "IMAGE", w.image, "TEXT", note).Replace(string(text))
	file := filepath.Join(w.dir, "etcd.yaml")
	must(w.T, os.WriteFile(file, []byte(filled), 0o644))
	return file
}

// inCode starts an update of a program that uses the npm package.
func (w *world) inCode(program, note string, args map[string]any) *run {
	w.Helper()
	want, err := json.Marshal(map[string]any{"dir": w.dir, "program": program, "manifest": w.manifest(note), "args": args})
	must(w.T, err)
	return w.engine.start(w.T, w.dir, "node", filepath.Join(w.engine.root, "test", "pulumi", "programs", "up.cjs"), string(want))
}

// watch starts to observe the set once it is there.
func (w *world) watch() {
	w.Helper()
	deadline := time.Now().Add(upWithin)
	for {
		_, err := shared.Client.AppsV1().StatefulSets(w.namespace).Get(w.ctx, "etcd", metav1.GetOptions{})
		if err == nil {
			break
		}
		if !apierrors.IsNotFound(err) || time.Now().After(deadline) {
			w.Fatalf("pulumi has not created the set: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	var err error
	w.observer, err = observer.Start(w.ctx, shared.Client, w.namespace, "etcd")
	must(w.T, err)
	w.Cleanup(w.observer.Stop)
	w.mark = w.observer.Mark()
}

func (w *world) live() *appsv1.StatefulSet {
	w.Helper()
	set, err := shared.Client.AppsV1().StatefulSets(w.namespace).Get(w.ctx, "etcd", metav1.GetOptions{})
	must(w.T, err)
	return set
}

// converged checks the set as it is at this moment, in which Pulumi has returned.
func (w *world) converged(note string) {
	w.Helper()
	set := w.live()
	notes, status := set.Annotations, set.Status
	if status.ObservedGeneration != set.Generation || notes[events.AnnotationConvergedRevision] != status.UpdateRevision ||
		status.CurrentRevision != status.UpdateRevision || notes[events.AnnotationPhase] != events.PhaseConverged {
		w.Errorf("pulumi returned too early: generation %d, status %+v, annotations %v", set.Generation, status, notes)
	}
	if got := *set.Spec.UpdateStrategy.RollingUpdate.Partition; got < *set.Spec.Replicas {
		w.Errorf("pulumi returned while the set was open: partition %d", got)
	}
	pods, err := shared.Client.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{LabelSelector: "app=etcd"})
	must(w.T, err)
	if len(pods.Items) != 3 {
		w.Errorf("%d pods", len(pods.Items))
	}
	for _, p := range pods.Items {
		env := p.Spec.Containers[0].Env
		if p.Labels[events.PodRevisionLabel] != status.UpdateRevision || env[slices.IndexFunc(env, named("NOTE"))].Value != note {
			w.Errorf("pulumi returned before %s was replaced", p.Name)
		}
	}
}

// guarded checks that the roll since the mark gave up one member at a time and
// had no election that was not announced.
func (w *world) guarded() {
	w.Helper()
	r, err := w.observer.Report(w.mark)
	must(w.T, err)
	if r.Unplanned != 0 || len(r.Led) != 0 || r.PodsDown > 1 || r.MembersDown > 1 {
		w.Errorf("unplanned elections %d (%+v), given up while leading %v, pods down %d, members down %d", r.Unplanned, r.Elections, r.Led, r.PodsDown, r.MembersDown)
	}
	w.mark = w.observer.Mark()
}
