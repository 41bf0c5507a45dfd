package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/local/agent"
	"github.com/etcdroll/etcdroll/test/local/proc"
)

// Names of the components, as the command line has them.
const (
	Etcd              = "etcd"
	APIServer         = "apiserver"
	ControllerManager = "controller-manager"
	Scheduler         = "scheduler"
	NodeAgent         = "agent"
)

// serviceCIDR is loopback, so that the node agent can listen on cluster IPs. Pod
// addresses lie below it.
const serviceCIDR = "127.200.0.0/16"

// controllers that run. EndpointSlices are left out: the API server refuses
// loopback addresses in them, so that the controller could only fail.
var controllers = []string{
	"statefulset-controller", "replicaset-controller", "deployment-controller", "job-controller",
	"daemonset-controller", "namespace-controller", "serviceaccount-controller",
	"root-ca-certificate-publisher-controller", "disruption-controller", "garbage-collector-controller",
	"pod-garbage-collector-controller", "node-lifecycle-controller", "taint-eviction-controller",
	"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller",
	"clusterrole-aggregation-controller", "validatingadmissionpolicy-status-controller",
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

type addresses struct{ etcd, peer, api, controllers, scheduler, kubelet int }

func pickAddresses() (addresses, error) {
	p, err := ports(6)
	if err != nil {
		return addresses{}, err
	}
	return addresses{p[0], p[1], p[2], p[3], p[4], p[5]}, nil
}

// components describes every program of the cluster, in the order of starting.
func (o Options) components(a addresses) []Component {
	component := func(name, binary, ready string, grace time.Duration, args ...string) Component {
		return Component{Ready: ready, Grace: grace, Command: proc.Command{
			Name: name, Path: binary, Args: args, Log: o.Dir.Log(name), Dir: string(o.Dir)}}
	}
	return []Component{
		component(Etcd, o.Binaries["etcd-v3.6.16"], "http://"+local(a.etcd)+"/health", 2*time.Second, o.etcdArgs(a)...),
		component(APIServer, o.Binaries["kube-apiserver"], "https://"+local(a.api)+"/readyz", 3*time.Second, o.apiServerArgs(a)...),
		component(ControllerManager, o.Binaries["kube-controller-manager"], "https://"+local(a.controllers)+"/healthz", 2*time.Second,
			o.gated(append(o.controlPlaneArgs("controller-manager", a.controllers),
				"--controllers="+strings.Join(controllers, ","),
				"--use-service-account-credentials",
				"--root-ca-file="+o.Dir.pki("ca.crt"),
				"--service-account-private-key-file="+o.Dir.pki("service-account.key")))...),
		component(Scheduler, o.Binaries["kube-scheduler"], "https://"+local(a.scheduler)+"/readyz", 2*time.Second,
			o.gated(o.controlPlaneArgs("scheduler", a.scheduler))...),
		component(NodeAgent, o.self(), "", 0, "agent", "--config", o.agentConfigFile()),
	}
}

func (o Options) etcdArgs(a addresses) []string {
	return []string{
		"--name=control-plane", "--data-dir=" + o.Dir.path("etcd"),
		"--listen-client-urls=http://" + local(a.etcd), "--advertise-client-urls=http://" + local(a.etcd),
		"--listen-peer-urls=http://" + local(a.peer), "--initial-advertise-peer-urls=http://" + local(a.peer),
		"--initial-cluster=control-plane=http://" + local(a.peer),
		"--unsafe-no-fsync", "--log-level=warn", "--auto-compaction-retention=1h",
	}
}

func (o Options) apiServerArgs(a addresses) []string {
	key := o.Dir.pki
	return o.gated([]string{
		"--etcd-servers=http://" + local(a.etcd),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", a.api),
		"--tls-cert-file=" + key("serving.crt"), "--tls-private-key-file=" + key("serving.key"), "--client-ca-file=" + key("ca.crt"),
		"--authorization-mode=RBAC", "--anonymous-auth=true",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + key("service-account.crt"), "--service-account-signing-key-file=" + key("service-account.key"),
		"--service-cluster-ip-range=" + serviceCIDR, "--endpoint-reconciler-type=none",
		"--kubelet-client-certificate=" + key("kubelet-client.crt"), "--kubelet-client-key=" + key("kubelet-client.key"),
		"--kubelet-certificate-authority=" + key("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		"--audit-policy-file=" + o.Dir.path("audit-policy.yaml"), "--audit-log-path=" + o.auditLog(),
		"--profiling=false", "--allow-privileged=true",
	})
}

// controlPlaneArgs are common to controller manager and scheduler. There is one
// of each, so that waiting for a leader's lease would only cost time.
func (o Options) controlPlaneArgs(name string, port int) []string {
	config := o.Dir.Kubeconfig(name)
	return []string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + o.Dir.pki("serving.crt"), "--tls-private-key-file=" + o.Dir.pki("serving.key"),
		"--leader-elect=false", "--profiling=false",
	}
}

func (o Options) gated(args []string) []string {
	if o.FeatureGates != "" {
		args = append(args, "--feature-gates="+o.FeatureGates)
	}
	return args
}

func (o Options) auditLog() string {
	if o.AuditLog != "" {
		return o.AuditLog
	}
	return o.Dir.path("audit.log")
}

func (o Options) self() string            { return o.Dir.path("bin", "local") }
func (o Options) agentConfigFile() string { return o.Dir.path("agent.json") }

func (o Options) writeConfigs(a addresses) error {
	images, err := o.images(o.self())
	if err != nil {
		return err
	}
	config, err := json.MarshalIndent(agent.Config{
		Kubeconfig: o.Dir.Kubeconfig("nodeagent"), Nodes: o.Nodes,
		PodsDir: o.Dir.path("pods"), LogsDir: o.Dir.PodLogs(), RunDir: o.Dir.runContainers(), Cgroup: o.Cgroup, VolumesDir: o.Dir.path("volumes"),
		Images: images, BackoffBase: o.BackoffBase, Port: int32(a.kubelet),
		CertFile: o.Dir.pki("serving.crt"), KeyFile: o.Dir.pki("serving.key"), ClientCA: o.Dir.pki("ca.crt"),
		APIServer: local(a.api), Version: "v1.37.2",
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.agentConfigFile(), config, 0o644); err != nil {
		return err
	}
	return os.WriteFile(o.Dir.path("audit-policy.yaml"), []byte(auditPolicy), 0o644)
}
