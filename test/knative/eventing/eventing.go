// Package eventing runs the real Knative Eventing beside a cluster: broker
// ingress and filter, the in-memory channel, and their controllers, as processes.
package eventing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/child"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/knative/mesh"
)

// Names in the cluster.
const (
	IngressHost    = "broker-ingress." + systemNamespace + ".svc.cluster.local"
	filterHost     = "broker-filter." + systemNamespace + ".svc.cluster.local"
	dispatcherHost = "imc-dispatcher." + systemNamespace + ".svc.cluster.local"
)

// The dispatcher has no setting for its port, and so has a room of its own. This
// is where it is reached.
const dispatcherAddress = "127.201.0.5:8080"

// DispatcherURL is where all channels are served.
const DispatcherURL = "http://" + dispatcherAddress

const dispatcher = 2 // its place among the processes

const answersWithin = time.Minute

// Eventing is a running installation.
type Eventing struct {
	Modules Modules

	cluster   *cluster.Cluster
	mesh      *mesh.Mesh
	room      string // program
	api       string // port of the API server
	processes []*child.Process
}

// Start installs Eventing into the cluster and runs its programs, which are
// built first if the cache has none. They reach each other through the mesh.
func Start(ctx context.Context, c *cluster.Cluster, m *mesh.Mesh, room string) (*Eventing, error) {
	modules, err := FindModules(ctx)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(c.Config.Host)
	if err != nil {
		return nil, err
	}
	e := &Eventing{Modules: modules, cluster: c, mesh: m, room: room, api: server.Port()}
	if err := apply(ctx, c, modules); err != nil {
		return nil, err
	}
	if err := e.run(ctx); err != nil {
		e.Stop()
		return nil, fmt.Errorf("start eventing: %w\n%s", err, e.Logs())
	}
	return e, nil
}

// Stop ends all programs.
func (e *Eventing) Stop() {
	for _, p := range e.processes {
		p.Kill() // nothing of theirs outlives the cluster
	}
}

func (e *Eventing) run(ctx context.Context) error {
	ports, err := freePorts(4)
	if err != nil {
		return err
	}
	ingress, filter := ports[0], ports[1]
	for _, p := range []process{
		{name: "eventing-ingress", env: []string{"INGRESS_PORT=" + ingress, "INGRESS_PORT_HTTPS=" + ports[2], "CONTAINER_NAME=ingress"}},
		{name: "eventing-filter", env: []string{"FILTER_PORT=" + filter, "FILTER_PORT_HTTPS=" + ports[3], "CONTAINER_NAME=filter", "NAMESPACE=" + systemNamespace}},
		e.dispatcher(),
		{name: "eventing-controllers", env: []string{"DISPATCHER_IMAGE=none"}, args: []string{"--disable-ha"}},
	} {
		if err := e.start(ctx, p); err != nil {
			return err
		}
	}
	if err := e.startWebhook(ctx); err != nil {
		return err
	}
	for host, address := range map[string]string{IngressHost: "127.0.0.1:" + ingress, filterHost: "127.0.0.1:" + filter, dispatcherHost: dispatcherAddress} {
		e.mesh.Route(host, "http://"+address)
		if err := e.answers("http://" + address + "/healthz"); err != nil {
			return err
		}
	}
	return nil
}

// process is one of Eventing's programs, and the ways in and out of its room, if
// it has one.
type process struct {
	name            string
	env, args, ways []string
}

func (e *Eventing) dispatcher() process {
	return process{name: "eventing-channel-dispatcher", args: []string{"--disable-ha"},
		env:  []string{"CONTAINER_NAME=dispatcher", "MAX_IDLE_CONNS=100", "MAX_IDLE_CONNS_PER_HOST=100"},
		ways: []string{"-in=" + dispatcherAddress, "-out=" + e.api, "-out=" + e.mesh.Port()}}
}

// startWebhook runs the webhook where the API server looks for it, and then lets
// the API server ask it.
func (e *Eventing) startWebhook(ctx context.Context) error {
	address, err := e.cluster.Kubectl(ctx, nil, "-n", systemNamespace, "get", "service", "eventing-webhook", "-o", "jsonpath={.spec.clusterIP}")
	if err != nil {
		return err
	}
	if err := e.start(ctx, process{name: "eventing-webhook", env: []string{"WEBHOOK_NAME=eventing-webhook", "WEBHOOK_PORT=8443"}, args: []string{"--disable-ha"},
		ways: []string{"-in=" + string(address) + ":443=8443", "-out=" + e.api}}); err != nil {
		return err
	}
	return applyWebhooks(ctx, e.cluster, e.Modules)
}

func (e *Eventing) start(ctx context.Context, p process) error {
	program, err := Program(ctx, p.name)
	if err != nil {
		return err
	}
	c := child.Command{
		Name: p.name, Path: program, Args: p.args, Log: filepath.Join(e.cluster.Dir, "logs", p.name+".log"),
		Env: append(slices.Clone(p.env), "KUBECONFIG="+e.cluster.Kubeconfig, "SYSTEM_NAMESPACE="+systemNamespace, "POD_NAME="+p.name,
			"CONFIG_LOGGING_NAME=config-logging", "CONFIG_OBSERVABILITY_NAME=config-observability", "CONFIG_LEADERELECTION_NAME=config-leader-election",
			"METRICS_DOMAIN=knative.dev/eventing", "HTTP_PROXY="+e.mesh.URL),
	}
	if len(p.ways) > 0 {
		c.Path, c.Args = e.room, slices.Concat(p.ways, []string{"--", program}, p.args)
	}
	started, err := child.Start(c)
	if err == nil {
		e.processes = append(e.processes, started)
	}
	return err
}

// RestartDispatcher ends the channel dispatcher and starts it again. Events that
// it held are lost.
func (e *Eventing) RestartDispatcher(ctx context.Context) error {
	e.processes[dispatcher].Kill()
	if err := e.start(ctx, e.dispatcher()); err != nil {
		return err
	}
	last := len(e.processes) - 1
	e.processes[dispatcher], e.processes = e.processes[last], e.processes[:last]
	return e.answers(DispatcherURL + "/healthz")
}

// Program is the path of one of Knative's programs, built if need be.
func Program(ctx context.Context, name string) (string, error) {
	root, err := cluster.Root(ctx)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "run", ".", "build", "--print", name)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(root, "test", "local"), &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return strings.TrimSpace(out.String()), nil
}

// BuildRoom builds the program that gives others rooms of their own.
func BuildRoom(ctx context.Context, path string) error {
	root, err := cluster.Root(ctx)
	if err != nil {
		return err
	}
	return child.Run(ctx, child.Command{Name: "building room", Path: "go", Args: []string{"build", "-o", path, "./test/knative/room"},
		Dir: root, Log: path + "-build.log"})
}

// answers waits until something answers there, with any status: who is not
// ready yet is not deaf.
func (e *Eventing) answers(url string) error {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	for deadline := time.Now().Add(answersWithin); ; time.Sleep(50 * time.Millisecond) {
		response, err := client.Get(url)
		if err == nil {
			return response.Body.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("eventing does not answer: %w\n%s", err, e.Logs())
		}
	}
}

// Logs are the ends of all logs, for messages of failed tests.
func (e *Eventing) Logs() string {
	var b strings.Builder
	for _, p := range e.processes {
		fmt.Fprintf(&b, "--- alive %t\n%s\n", p.Alive(), p.Tail(8))
	}
	return b.String()
}

// freePorts are below the range from which the kernel takes ports for outgoing
// connections.
func freePorts(n int) (ports []string, err error) {
	for tries := 0; len(ports) < n && tries < 1000; tries++ {
		port := strconv.Itoa(20000 + rand.IntN(10000))
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // held until all are found, so that none is found twice
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, errors.New("no free ports found")
	}
	return ports, nil
}
