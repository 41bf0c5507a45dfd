// Package serving runs the real Knative Serving beside a cluster: activator,
// autoscaler, controller and webhook as processes, each in a room of its own, and
// queue-proxy in the function's pods. What a cluster has besides Knative is small
// and ours: an ingress (ingress.go) and the endpoints controller (endpoints.go).
package serving

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/etcdroll/etcdroll/test/e2e/child"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/knative/eventing"
	"github.com/etcdroll/etcdroll/test/knative/mesh"
)

const systemNamespace = "knative-serving"

// Where Knative's programs are reached: outside their rooms, and in Endpoints.
const (
	activatorAddress   = "127.201.0.2"
	activatorEndpoint  = "10.201.0.2"
	autoscalerAddress  = "127.201.0.3"
	autoscalerEndpoint = "10.201.0.3"
)

const readyWithin = time.Minute

// Serving is a running installation.
type Serving struct {
	cluster   *cluster.Cluster
	mesh      *mesh.Mesh
	room      string // program
	api       string // port of the API server
	ingress   *ingress
	stop      context.CancelFunc
	processes []*child.Process
}

// Start installs Serving into the cluster and runs its programs, which are built
// first if the cache has none. Names in the cluster are reached through the mesh.
func Start(ctx context.Context, c *cluster.Cluster, m *mesh.Mesh, room string) (*Serving, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &Serving{cluster: c, mesh: m, room: room, stop: stop}
	if err := s.start(ctx); err != nil {
		err = fmt.Errorf("start serving: %w\n%s", err, s.Logs())
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Stop ends all programs.
func (s *Serving) Stop() {
	s.stop()
	for _, p := range s.processes {
		p.Kill() // nothing of theirs outlives the cluster
	}
	if s.ingress != nil {
		s.ingress.close()
	}
}

// Logs are the ends of all logs, for messages of failed tests.
func (s *Serving) Logs() string {
	var b strings.Builder
	for _, p := range s.processes {
		fmt.Fprintf(&b, "--- alive %t\n%s\n", p.Alive(), p.Tail(8))
	}
	return b.String()
}

func (s *Serving) start(ctx context.Context) error {
	modules, err := findModules(ctx)
	if err != nil {
		return err
	}
	server, err := url.Parse(s.cluster.Config.Host)
	if err != nil {
		return err
	}
	s.api = server.Port()
	if err := apply(ctx, s.cluster, modules); err != nil {
		return err
	}
	config := rest.CopyConfig(s.cluster.Config)
	config.WarningHandler = rest.NoWarnings{} // that Endpoints are deprecated is Serving's concern
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := startEndpoints(ctx, client); err != nil {
		return err
	}
	if s.ingress, err = startIngress(ctx, config, client, s.mesh); err != nil {
		return err
	}
	hosts := filepath.Join(s.cluster.Dir, "serving-hosts")
	if err := writeHosts(hosts); err != nil {
		return err
	}
	if err := s.startWebhook(ctx, modules); err != nil {
		return err
	}
	ways := func(more ...string) []string { return append(more, "-out="+s.api) }
	for _, p := range []struct {
		name string
		ways []string
		env  []string
	}{
		{"autoscaler", ways("-in="+autoscalerAddress+":8080", "-out=9090", "-out="+s.mesh.Port()),
			// Its own metrics make way for those of the pods.
			[]string{"POD_IP=" + autoscalerEndpoint, "METRICS_PROMETHEUS_PORT=9099", "HTTP_PROXY=" + s.mesh.URL, "NO_PROXY=10.0.0.0/8"}},
		{"activator", ways("-in="+activatorAddress+":8012", "-in="+activatorAddress+":8013", "-out=8080", "-hosts="+hosts,
			podWay(8012), podWay(8013)), []string{"POD_IP=" + activatorEndpoint}},
		{"controller", ways(), nil},
	} {
		if err := s.run(ctx, p.name, p.ways, p.env); err != nil {
			return err
		}
	}
	return s.ready("http://" + activatorAddress + ":8012/healthz")
}

// run starts one of Serving's programs in a room of its own.
func (s *Serving) run(ctx context.Context, name string, ways, env []string) error {
	program, err := eventing.Program(ctx, "serving-"+name)
	if err != nil {
		return err
	}
	p, err := child.Start(child.Command{
		Name: name, Path: s.room, Args: append(slices.Clone(ways), "--", program), Log: filepath.Join(s.cluster.Dir, "logs", "serving-"+name+".log"),
		Env: append(slices.Clone(env), "KUBECONFIG="+s.cluster.Kubeconfig, "SYSTEM_NAMESPACE="+systemNamespace, "POD_NAME="+name,
			"CONFIG_LOGGING_NAME=config-logging", "CONFIG_OBSERVABILITY_NAME=config-observability", "CONFIG_LEADERELECTION_NAME=config-leader-election",
			"METRICS_DOMAIN=knative.dev/serving"),
	})
	if err == nil {
		s.processes = append(s.processes, p)
	}
	return err
}

// startWebhook runs the webhook where the API server looks for it, and then lets
// the API server ask it.
func (s *Serving) startWebhook(ctx context.Context, m modules) error {
	address, err := s.cluster.Kubectl(ctx, nil, "-n", systemNamespace, "get", "service", "webhook", "-o", "jsonpath={.spec.clusterIP}")
	if err != nil {
		return err
	}
	if err := s.run(ctx, "webhook", []string{"-in=" + string(address) + ":443=8443", "-out=" + s.api},
		[]string{"WEBHOOK_NAME=webhook", "WEBHOOK_PORT=8443"}); err != nil {
		return err
	}
	return applyWebhooks(ctx, s.cluster, m)
}
