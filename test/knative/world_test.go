package knative

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcdroll/etcdroll/test/config/overlay"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
	"github.com/etcdroll/etcdroll/test/knative/eventing"
	"github.com/etcdroll/etcdroll/test/knative/mesh"
)

const (
	formsWithin = 90 * time.Second
	rollsWithin = 3 * time.Minute
	patience    = 25 // seconds until a pod that does not start halts the roll
)

// world is one namespace with config/broker and one set, on a cluster with
// Knative Eventing. All tests share it, one after the other.
type world struct {
	ctx       context.Context
	namespace string
	mesh      *mesh.Mesh
	eventing  *eventing.Eventing
	function  *product.Part
	trigger   *product.Part
	set       *etcdset.Set
	observer  *observer.Observer
	writer    *writer.Writer
	mark      observer.Mark
	since     time.Time
}

var (
	made    *world
	madeErr error
)

// aWorld gives the shared world, with the set settled and no hop spoilt.
func aWorld(t *testing.T) *world {
	t.Helper()
	if made == nil && madeErr == nil {
		made = &world{ctx: context.Background()}
		madeErr = made.build()
	}
	if madeErr != nil {
		t.Fatal(madeErr)
	}
	t.Cleanup(func() {
		made.mesh.Spoil(nil)
		if t.Failed() {
			t.Logf("logs of trigger and function: %s %s", made.trigger.Log(), made.function.Log())
		}
	})
	must(t, made.observer.Until(made.ctx, rollsWithin, "an earlier roll has not ended", observer.View.Settled))
	return made
}

func (w *world) build() error {
	var err error
	if w.mesh, err = mesh.Start(); err != nil {
		return err
	}
	room := filepath.Join(shared.Dir, "bin", "room")
	if err := eventing.BuildRoom(w.ctx, room); err != nil {
		return err
	}
	if w.eventing, err = eventing.Start(w.ctx, shared, w.mesh, room); err != nil {
		return err
	}
	if w.namespace, _, err = shared.Namespace(w.ctx, "kn"); err != nil {
		return err
	}
	if err := w.installBroker(); err != nil {
		return err
	}
	return w.makeSet()
}

func (w *world) close() {
	if w.writer != nil {
		if err := w.writer.Stop(w.ctx); err != nil {
			fmt.Fprintln(os.Stderr, "FAIL: writes were lost:", err)
			os.Exit(1)
		}
	}
	if w.observer != nil {
		w.observer.Stop()
	}
	for _, p := range []*product.Part{w.trigger, w.function} {
		if p != nil {
			p.Stop()
		}
	}
	if w.eventing != nil {
		w.eventing.Stop()
	}
	if w.mesh != nil {
		w.mesh.Stop()
	}
}

// installBroker applies config/broker, with one change: trigger and function run
// as processes beside the cluster, with the settings and the rights that are
// rendered, because Knative's own programs want the ports that pods would use.
func (w *world) installBroker() error {
	objects, err := overlay.Render(w.ctx, shared, overlay.Overlay{Namespace: w.namespace, Resources: []string{"broker"},
		Patches: []overlay.Patch{{Target: overlay.Target{Kind: "Deployment", Name: "etcdroll-trigger"},
			Patch: "- {op: replace, path: /spec/replicas, value: 0}"}}})
	if err != nil {
		return err
	}
	programs, err := product.Build(w.ctx, filepath.Join(shared.Dir, "bin"), "trigger", "roll-fn")
	if err != nil {
		return err
	}
	place, err := product.InstallObjects(w.ctx, shared, programs, w.namespace, objects)
	if err != nil {
		return err
	}
	if err := w.addressService(); err != nil {
		return err
	}
	if err := w.startParts(place, objects); err != nil {
		return err
	}
	_, err = shared.Kubectl(w.ctx, nil, "-n", w.namespace, "wait", "--for=condition=Ready", "--timeout=60s", "broker/etcdroll",
		"trigger/etcdroll-diverged", "trigger/etcdroll-continue", "trigger/etcdroll-resume")
	if err != nil {
		state, _ := shared.Kubectl(w.ctx, nil, "-n", w.namespace, "get", "broker,trigger,subscription,inmemorychannel", "-o", "yaml")
		_ = os.WriteFile(filepath.Join(shared.Dir, "logs", "broker-state.yaml"), state, 0o644)
		return fmt.Errorf("%w\n%s", err, w.eventing.Logs())
	}
	return nil
}

// addressService says where the function is, as Serving would.
func (w *world) addressService() error {
	url := "http://" + w.functionHost()
	status := fmt.Sprintf(`{"status":{"url":%q,"address":{"url":%q},"conditions":[{"type":"Ready","status":"True"}]}}`, url, url)
	_, err := shared.Kubectl(w.ctx, nil, "-n", w.namespace, "patch", "services.serving.knative.dev", "etcdroll-roll-fn", "--subresource=status", "--type=merge", "-p", status)
	return err
}

func (w *world) functionHost() string {
	return "etcdroll-roll-fn." + w.namespace + ".svc.cluster.local"
}

func (w *world) deadLetterHost() string {
	return "etcdroll-dead-letters." + w.namespace + ".svc.cluster.local"
}

// startParts runs both parts with what the manifests say.
func (w *world) startParts(place *product.Place, objects overlay.Objects) error {
	wait, sink, err := settings(objects, w.namespace)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"HTTP_PROXY": w.mesh.URL, "ETCDROLL_MAX_WAIT": wait} {
		if err := os.Setenv(name, value); err != nil { // for the children
			return err
		}
	}
	if w.function, err = place.Function(); err != nil {
		return err
	}
	if w.trigger, err = place.Trigger(sink, "--leader-elect=false"); err != nil {
		return err
	}
	w.mesh.Route(w.functionHost(), w.function.URL)
	w.mesh.Route(w.deadLetterHost(), w.trigger.URL)
	w.mesh.Route("-kn-channel."+w.namespace+".svc.cluster.local", eventing.DispatcherURL)
	return nil
}

// settings are the function's --max-wait and the trigger's sink.
func settings(objects overlay.Objects, namespace string) (wait, sink string, err error) {
	for _, o := range objects {
		switch {
		case o.GetKind() == "Service" && strings.HasPrefix(o.GetAPIVersion(), "serving.knative.dev/"):
			containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			if err != nil {
				return "", "", err
			}
			for _, arg := range containers[0].(map[string]any)["args"].([]any) {
				if value, ok := strings.CutPrefix(arg.(string), "--max-wait="); ok {
					wait = value
				}
			}
		case o.GetKind() == "Deployment":
			d, err := overlay.Into[appsv1.Deployment](o)
			if err != nil {
				return "", "", err
			}
			for _, env := range d.Spec.Template.Spec.Containers[0].Env {
				if env.Name == "ETCDROLL_SINK" {
					sink = strings.ReplaceAll(env.Value, "$(POD_NAMESPACE)", namespace)
				}
			}
		}
	}
	if wait == "" || sink == "" {
		err = fmt.Errorf("config/broker sets no --max-wait (%q) or no sink (%q)", wait, sink)
	}
	return wait, sink, err
}

func (w *world) makeSet() error {
	o := etcdset.Options{Namespace: w.namespace, Config: etcdset.Quick()}
	o.Config["readyTimeoutSeconds"] = patience
	var err error
	if w.set, err = etcdset.Create(w.ctx, shared.Client, o); err != nil {
		return err
	}
	if w.observer, err = observer.Start(w.ctx, shared.Client, w.namespace, w.set.Name); err != nil {
		return err
	}
	if err := w.observer.Until(w.ctx, formsWithin, "the set has not formed", observer.View.AllUp); err != nil {
		return err
	}
	endpoints, err := w.set.Endpoints(w.ctx)
	if err != nil {
		return err
	}
	w.writer, err = writer.Start(slices.Collect(maps.Values(endpoints)), 50)
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
