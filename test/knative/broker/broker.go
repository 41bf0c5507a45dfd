// Package broker installs config/broker into a cluster with Knative Eventing,
// with one change: trigger and function run as processes beside the cluster,
// with the settings and the rights that are rendered, because Knative's own
// programs want the ports that pods would use.
package broker

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcdroll/etcdroll/test/config/overlay"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/knative/eventing"
	"github.com/etcdroll/etcdroll/test/knative/mesh"
)

// Topology is one installation.
type Topology struct {
	Place *product.Place
	Sink  string // of the trigger, as rendered

	mesh *mesh.Mesh
}

// Install applies config/broker and says where the function is, as Serving would.
// Parts that are started in the place find their way through the mesh.
func Install(ctx context.Context, c *cluster.Cluster, m *mesh.Mesh, programs product.Programs, namespace string) (*Topology, error) {
	objects, err := overlay.Render(ctx, c, overlay.Overlay{Namespace: namespace, Resources: []string{"broker"},
		Patches: []overlay.Patch{{Target: overlay.Target{Kind: "Deployment", Name: "etcdroll-trigger"},
			Patch: "- {op: replace, path: /spec/replicas, value: 0}"}}})
	if err != nil {
		return nil, err
	}
	wait, sink, err := settings(objects, namespace)
	if err != nil {
		return nil, err
	}
	place, err := product.InstallObjects(ctx, c, programs, namespace, objects)
	if err != nil {
		return nil, err
	}
	place.Env = []string{"HTTP_PROXY=" + m.URL, "ETCDROLL_MAX_WAIT=" + wait}
	t := &Topology{Place: place, Sink: sink, mesh: m}
	url := "http://" + t.FunctionHost()
	status := fmt.Sprintf(`{"status":{"url":%q,"address":{"url":%q},"conditions":[{"type":"Ready","status":"True"}]}}`, url, url)
	_, err = c.Kubectl(ctx, nil, "-n", namespace, "patch", "services.serving.knative.dev", "etcdroll-roll-fn", "--subresource=status", "--type=merge", "-p", status)
	return t, err
}

// FunctionHost is the function's name in the cluster.
func (t *Topology) FunctionHost() string {
	return "etcdroll-roll-fn." + t.Place.Namespace + ".svc.cluster.local"
}

// DeadLetterHost is the name of what takes dead letters.
func (t *Topology) DeadLetterHost() string {
	return "etcdroll-dead-letters." + t.Place.Namespace + ".svc.cluster.local"
}

// Route leads the names of the installation to the running parts.
func (t *Topology) Route(function, trigger *product.Part) {
	t.mesh.Route(t.FunctionHost(), function.URL)
	t.mesh.Route(t.DeadLetterHost(), trigger.URL)
	t.mesh.Route("-kn-channel."+t.Place.Namespace+".svc.cluster.local", eventing.DispatcherURL)
}

// Ready waits until broker and triggers are. The names must have their routes.
func (t *Topology) Ready(ctx context.Context) error {
	_, err := t.Place.Cluster.Kubectl(ctx, nil, "-n", t.Place.Namespace, "wait", "--for=condition=Ready", "--timeout=60s", "broker/etcdroll",
		"trigger/etcdroll-diverged", "trigger/etcdroll-continue", "trigger/etcdroll-resume")
	return err
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
