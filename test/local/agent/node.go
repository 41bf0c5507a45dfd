package agent

import (
	"context"
	"fmt"
	goruntime "runtime"
	"time"

	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	hostIP   = "127.0.0.1"
	workers  = 8 // pods of one node handled at once
	leaseFor = 40
)

// nodeObject describes node number i of n. Zones go round a, b, c; the first
// half of the nodes, rounded up, is in pool blue and the rest in pool green.
func nodeObject(i, n int, kubeletPort int32, version string) *corev1.Node {
	pool := "green"
	if i < (n+1)/2 {
		pool = "blue"
	}
	name := NodeName(i)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("64Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("500Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:     name,
			corev1.LabelTopologyZone: "zone-" + string(rune('a'+i%3)),
			corev1.LabelOSStable:     goruntime.GOOS,
			corev1.LabelArchStable:   goruntime.GOARCH,
			"pool":                   pool,
		}},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: hostIP}, {Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: kubeletPort}},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: version, OperatingSystem: goruntime.GOOS, Architecture: goruntime.GOARCH,
				ContainerRuntimeVersion: "process://1", OSImage: "etcdroll local",
			},
		},
	}
	node.Status.Conditions = conditions()
	return node
}

// NodeName is the name of node number i.
func NodeName(i int) string { return fmt.Sprintf("local-%d", i) }

func conditions() []corev1.NodeCondition {
	now := metav1.Now()
	healthy := func(t corev1.NodeConditionType, s corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: t, Status: s, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return []corev1.NodeCondition{
		healthy(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
		healthy(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		healthy(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		healthy(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
	}
}

// runNode runs one node until the context ends.
func (a *Agent) runNode(ctx context.Context, node *corev1.Node) error {
	onThisNode := informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node.Name).String()
	})
	factory := informers.NewSharedInformerFactoryWithOptions(a.client, 0, onThisNode)
	podInformer := factory.Core().V1().Pods()
	api := &statusClient{client: a.client.CoreV1(), pods: podInformer.Lister(), runtime: a.runtime}
	p := &provider{ctx: ctx, runtime: a.runtime, node: node.Name, pods: podInformer.Lister(), api: api}
	if err := p.watchDeletions(podInformer.Informer()); err != nil {
		return err
	}
	pods, err := vknode.NewPodController(a.podControllerConfig(p, podInformer))
	if err != nil {
		return fmt.Errorf("pod controller of %s: %w", node.Name, err)
	}
	factory.Start(ctx.Done())
	go func() { _ = pods.Run(ctx, workers) }()
	select {
	case <-pods.Ready():
	case <-pods.Done():
		return fmt.Errorf("pod controller of %s: %w", node.Name, pods.Err())
	case <-ctx.Done():
		return nil
	}
	return runNodeController(ctx, a.client, node)
}

// runNodeController keeps the node object and its lease alive.
func runNodeController(ctx context.Context, client kubernetes.Interface, node *corev1.Node) error {
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	for ctx.Err() == nil {
		controller, err := vknode.NewNodeController(vknode.NewNaiveNodeProvider(), node.DeepCopy(), client.CoreV1().Nodes(),
			vknode.WithNodeEnableLeaseV1(leases, leaseFor), vknode.WithNodeStatusUpdateInterval(5*time.Minute))
		if err != nil {
			return fmt.Errorf("node controller of %s: %w", node.Name, err)
		}
		if err := controller.Run(ctx); err != nil && ctx.Err() == nil {
			// Registration failed, for instance while the API server restarts.
			sleep(ctx, 500*time.Millisecond)
		}
	}
	return nil
}

// watchDeletions ends pods as soon as the API server says so. The pod controller
// would do it too, but it works on one event of a pod at a time and does not
// tell a pod apart from its successor of the same name.
func (p *provider) watchDeletions(informer cache.SharedIndexInformer) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, now any) {
			if changed, ok := now.(*corev1.Pod); ok && changed.DeletionTimestamp != nil {
				if w := p.runtime.worker(changed.UID); w != nil {
					p.end(changed)
				}
			}
		},
		DeleteFunc: func(last any) {
			if tombstone, ok := last.(cache.DeletedFinalStateUnknown); ok {
				last = tombstone.Obj
			}
			if gone, ok := last.(*corev1.Pod); ok {
				if w := p.runtime.worker(gone.UID); w != nil {
					p.end(gone)
				}
			}
		},
	})
	return err
}
