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

// The dispatcher has no setting for its port.
const dispatcherPort = "8080"

// DispatcherURL is where all channels are served.
const DispatcherURL = "http://127.0.0.1:" + dispatcherPort

const (
	dispatcherName = "eventing-channel-dispatcher"
	dispatcher     = 2 // its place among the processes
)

var (
	dispatcherEnv  = []string{"CONTAINER_NAME=dispatcher", "MAX_IDLE_CONNS=100", "MAX_IDLE_CONNS_PER_HOST=100"}
	dispatcherArgs = []string{"--disable-ha"}
)

const answersWithin = time.Minute

// Eventing is a running installation.
type Eventing struct {
	Modules Modules

	cluster   *cluster.Cluster
	mesh      *mesh.Mesh
	processes []*child.Process
}

// Start installs Eventing into the cluster and runs its programs, which are
// built first if the cache has none. They reach each other through the mesh.
func Start(ctx context.Context, c *cluster.Cluster, m *mesh.Mesh) (*Eventing, error) {
	modules, err := FindModules(ctx)
	if err != nil {
		return nil, err
	}
	if l, err := net.Listen("tcp", ":"+dispatcherPort); err != nil {
		return nil, fmt.Errorf("the channel dispatcher's port is taken: %w", err)
	} else if err := l.Close(); err != nil {
		return nil, err
	}
	if err := apply(ctx, c, modules); err != nil {
		return nil, err
	}
	e := &Eventing{Modules: modules, cluster: c, mesh: m}
	if err := e.run(ctx); err != nil {
		e.Stop()
		return nil, err
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
	for _, s := range []struct {
		name string
		env  []string
		args []string
	}{
		{"eventing-ingress", []string{"INGRESS_PORT=" + ingress, "INGRESS_PORT_HTTPS=" + ports[2], "CONTAINER_NAME=ingress"}, nil},
		{"eventing-filter", []string{"FILTER_PORT=" + filter, "FILTER_PORT_HTTPS=" + ports[3], "CONTAINER_NAME=filter", "NAMESPACE=" + systemNamespace}, nil},
		{dispatcherName, dispatcherEnv, dispatcherArgs},
		{"eventing-controllers", []string{"DISPATCHER_IMAGE=none"}, []string{"--disable-ha"}},
	} {
		if err := e.start(ctx, s.name, s.env, s.args); err != nil {
			return err
		}
	}
	for host, port := range map[string]string{IngressHost: ingress, filterHost: filter, dispatcherHost: dispatcherPort} {
		e.mesh.Route(host, "http://127.0.0.1:"+port)
	}
	for _, port := range []string{ingress, filter, dispatcherPort} {
		if err := e.answers("http://127.0.0.1:" + port + "/healthz"); err != nil {
			return err
		}
	}
	return nil
}

func (e *Eventing) start(ctx context.Context, name string, env, args []string) error {
	program, err := Program(ctx, name)
	if err != nil {
		return err
	}
	p, err := child.Start(child.Command{
		Name: name, Path: program, Args: args, Log: filepath.Join(e.cluster.Dir, "logs", name+".log"),
		Env: append(slices.Clone(env), "KUBECONFIG="+e.cluster.Kubeconfig, "SYSTEM_NAMESPACE="+systemNamespace, "POD_NAME="+name,
			"CONFIG_LOGGING_NAME=config-logging", "CONFIG_OBSERVABILITY_NAME=config-observability", "CONFIG_LEADERELECTION_NAME=config-leader-election",
			"METRICS_DOMAIN=knative.dev/eventing", "HTTP_PROXY="+e.mesh.URL),
	})
	if err == nil {
		e.processes = append(e.processes, p)
	}
	return err
}

// RestartDispatcher ends the channel dispatcher and starts it again. Events that
// it held are lost.
func (e *Eventing) RestartDispatcher(ctx context.Context) error {
	e.processes[dispatcher].Kill()
	if err := e.start(ctx, dispatcherName, dispatcherEnv, dispatcherArgs); err != nil {
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
