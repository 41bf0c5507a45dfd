// Package agent is the local cluster's node agent: several nodes in one process,
// each a virtual-kubelet node whose containers are processes.
package agent

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"github.com/etcdroll/etcdroll/test/local/image"
	"github.com/etcdroll/etcdroll/test/local/pod"
	"github.com/etcdroll/etcdroll/test/local/podenv"
	"github.com/etcdroll/etcdroll/test/local/storage"
	"github.com/etcdroll/etcdroll/test/local/volume"
)

// Config is what `up` tells the agent, as a JSON file.
type Config struct {
	Kubeconfig  string              `json:"kubeconfig"`
	Nodes       int                 `json:"nodes"`
	PodsDir     string              `json:"podsDir"`
	LogsDir     string              `json:"logsDir"`
	RunDir      string              `json:"runDir"`
	Cgroup      string              `json:"cgroup,omitempty"`
	VolumesDir  string              `json:"volumesDir"`
	Images      map[string][]string `json:"images"`
	BackoffBase time.Duration       `json:"backoffBase"`
	Port        int32               `json:"port"` // kubelet API, loopback
	CertFile    string              `json:"certFile"`
	KeyFile     string              `json:"keyFile"`
	ClientCA    string              `json:"clientCA"`
	APIServer   string              `json:"apiServer"` // host:port, for the containers' environment
	Version     string              `json:"version"`   // shown as the nodes' kubelet version
}

// Agent is a running node agent.
type Agent struct {
	config  Config
	client  kubernetes.Interface
	shared  informers.SharedInformerFactory
	objects *objects
	runtime *runtime
	nets    *services
	events  record.EventRecorder
}

// Run runs all nodes until the context ends. Its containers end with it.
func Run(ctx context.Context, config Config) error {
	rest, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the agent's kubeconfig: %w", err)
	}
	rest.QPS, rest.Burst = -1, -1 // a test machine's agent must not wait for itself
	rest.Dial = dialPatiently
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return err
	}
	a := &Agent{config: config, client: client, shared: informers.NewSharedInformerFactory(client, 0)}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.CoreV1().Events("")})
	defer broadcaster.Shutdown()
	a.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet"})
	a.objects = newObjects(client, a.shared)
	if a.nets, err = newServices(a.shared); err != nil {
		return err
	}
	provisioner := storage.New(client, a.shared, config.VolumesDir)
	if err := a.build(provisioner); err != nil {
		return err
	}
	a.shared.Start(ctx.Done())
	a.shared.WaitForCacheSync(ctx.Done())
	a.removeRemains(ctx)
	go provisioner.Run(ctx)
	go a.nets.run(ctx, a.runtime)
	if err := a.serve(ctx); err != nil {
		return err
	}
	return a.runNodes(ctx)
}

func (a *Agent) build(claims volume.Claims) error {
	host, port, err := net.SplitHostPort(a.config.APIServer)
	if err != nil {
		return fmt.Errorf("address of the API server: %w", err)
	}
	a.runtime = newRuntime(&pod.Host{
		PodsDir: a.config.PodsDir, LogsDir: a.config.LogsDir, RunDir: a.config.RunDir, Cgroup: a.config.Cgroup, HostIP: hostIP,
		Images: image.NewRegistry(a.config.Images),
		Env: &podenv.Resolver{Objects: a.objects, HostIP: hostIP, Base: map[string]string{
			"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "KUBERNETES_SERVICE_PORT_HTTPS": port,
		}},
		Volumes:     volume.Sources{Objects: a.objects, Tokens: &tokens{client: a.client}, HostIP: hostIP},
		Claims:      claims,
		Addresses:   &pod.Addresses{},
		Events:      a.events,
		BackoffBase: a.config.BackoffBase,
		Services:    a.nets.hosts,
	}, a.nets.kick)
	return a.objects.onChange(func(kind, namespace, name string) { a.runtime.refresh(kind, namespace, name) })
}

// removeRemains deletes the directories of pods that went while no agent ran. A
// pod that is still there keeps its emptyDir volumes.
func (a *Agent) removeRemains(ctx context.Context) {
	entries, err := os.ReadDir(a.config.PodsDir)
	if err != nil || len(entries) == 0 {
		return
	}
	pods, err := a.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return // the next start tries again
	}
	for _, e := range entries {
		if !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return string(p.UID) == e.Name() }) {
			_ = os.RemoveAll(filepath.Join(a.config.PodsDir, e.Name()))
		}
	}
}

// refresh renews the volumes of pods that read a changed object.
func (r *runtime) refresh(kind, namespace, name string) {
	for _, w := range r.all() {
		if p := w.Pod(); p.Namespace == namespace && volume.RefersTo(p, kind, name) {
			w.Refresh()
		}
	}
}

func (a *Agent) runNodes(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, a.config.Nodes)
	for i := range a.config.Nodes {
		go func() { failed <- a.runNode(ctx, nodeObject(i, a.config.Nodes, a.config.Port, a.config.Version)) }()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (a *Agent) podControllerConfig(p *provider, pods corev1informers.PodInformer) vknode.PodControllerConfig {
	core := a.shared.Core().V1()
	return vknode.PodControllerConfig{
		PodClient: p.api, PodInformer: pods, Provider: p,
		EventRecorder:     silent{}, // this agent tells the kubelet's events itself
		ConfigMapInformer: core.ConfigMaps(), SecretInformer: core.Secrets(), ServiceInformer: core.Services(),
		SyncPodsFromKubernetesRateLimiter:        atOnce{},
		DeletePodsFromKubernetesRateLimiter:      atOnce{},
		SyncPodStatusFromProviderRateLimiter:     atOnce{},
		SyncPodsFromKubernetesShouldRetryFunc:    keepTrying,
		DeletePodsFromKubernetesShouldRetryFunc:  keepTrying,
		SyncPodStatusFromProviderShouldRetryFunc: keepTrying,
		SkipDownwardAPIResolution:                true,
	}
}

// Address is where the agent's kubelet API listens.
func (c Config) Address() string { return net.JoinHostPort(hostIP, strconv.Itoa(int(c.Port))) }
