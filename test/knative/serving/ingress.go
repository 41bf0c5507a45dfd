package serving

//lint:file-ignore SA1019 Serving looks for addresses in Endpoints and nowhere else

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/etcdroll/etcdroll/test/knative/mesh"
)

var ingresses = schema.GroupVersionResource{Group: "networking.internal.knative.dev", Version: "v1alpha1", Resource: "ingresses"}

// ingressSpec is what this ingress does of Knative's type: rules by host, the
// first path, its first backend.
type ingressSpec struct {
	Rules []struct {
		Hosts []string `json:"hosts"`
		HTTP  struct {
			Paths []struct {
				AppendHeaders map[string]string `json:"appendHeaders"`
				Splits        []struct {
					ServiceNamespace string            `json:"serviceNamespace"`
					ServiceName      string            `json:"serviceName"`
					AppendHeaders    map[string]string `json:"appendHeaders"`
				} `json:"splits"`
			} `json:"paths"`
		} `json:"http"`
	} `json:"rules"`
}

// backend is a Service and the headers that requests get on their way to it.
type backend struct {
	service types.NamespacedName
	headers http.Header
}

// ingress takes requests by their Host header to what Knative's Ingress objects
// say, and to the addresses in the Endpoints of Services.
type ingress struct {
	url     string
	mesh    *mesh.Mesh
	client  kubernetes.Interface
	objects dynamic.Interface
	server  *http.Server

	mu       sync.Mutex
	backends map[string]backend // by host
}

func startIngress(ctx context.Context, config *rest.Config, client kubernetes.Interface, m *mesh.Mesh) (*ingress, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i := &ingress{url: "http://" + listener.Addr().String(), mesh: m, client: client, objects: objects, backends: map[string]backend{}}
	i.server = &http.Server{Handler: i, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = i.server.Serve(listener) }()
	shared := dynamicinformer.NewDynamicSharedInformerFactory(objects, 0)
	take := func(object any) { i.take(ctx, object.(*unstructured.Unstructured)) }
	_, err = shared.ForResource(ingresses).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: take, UpdateFunc: func(_, now any) { take(now) }})
	shared.Start(ctx.Done())
	return i, err
}

func (i *ingress) close() { _ = i.server.Close() }

// take learns the object's rules and reports it ready.
func (i *ingress) take(ctx context.Context, object *unstructured.Unstructured) {
	var whole struct {
		Spec ingressSpec `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &whole); err != nil {
		return
	}
	for _, rule := range whole.Spec.Rules {
		if len(rule.HTTP.Paths) == 0 || len(rule.HTTP.Paths[0].Splits) == 0 {
			continue
		}
		path, split := rule.HTTP.Paths[0], rule.HTTP.Paths[0].Splits[0]
		b := backend{service: types.NamespacedName{Namespace: split.ServiceNamespace, Name: split.ServiceName}, headers: http.Header{}}
		for _, headers := range []map[string]string{path.AppendHeaders, split.AppendHeaders} {
			for name, value := range headers {
				b.headers.Set(name, value)
			}
		}
		// The autoscaler asks the revision's own Service whether the activator
		// stands before it.
		i.serve(b.service.Name+"."+b.service.Namespace+".svc.cluster.local", backend{service: b.service})
		for _, host := range rule.Hosts {
			i.serve(host, b)
		}
	}
	i.report(ctx, object)
}

func (i *ingress) serve(host string, b backend) {
	i.mu.Lock()
	i.backends[host] = b
	i.mu.Unlock()
	i.mesh.Route(host, i.url)
}

func (i *ingress) report(ctx context.Context, object *unstructured.Unstructured) {
	if seen, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration"); seen == object.GetGeneration() {
		return
	}
	var conditions []map[string]string
	for _, kind := range []string{"Ready", "NetworkConfigured", "LoadBalancerReady"} {
		conditions = append(conditions, map[string]string{"type": kind, "status": "True", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)})
	}
	balancer := map[string]any{"ingress": []map[string]string{{"domainInternal": "ingress." + systemNamespace + ".svc.cluster.local"}}}
	status, err := json.Marshal(map[string]any{"status": map[string]any{"observedGeneration": object.GetGeneration(), "conditions": conditions,
		"publicLoadBalancer": balancer, "privateLoadBalancer": balancer}})
	if err != nil {
		return
	}
	// A conflict cannot be; if the object is gone, nobody waits for its status.
	_, _ = i.objects.Resource(ingresses).Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.MergePatchType, status, metav1.PatchOptions{}, "status")
}

// ServeHTTP passes one request on.
func (i *ingress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	i.mu.Lock()
	b, known := i.backends[host]
	i.mu.Unlock()
	if !known {
		http.NotFound(w, r) // as Knative's own ingresses do
		return
	}
	address, err := i.address(r.Context(), b.service)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	proxy := httputil.ReverseProxy{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(&url.URL{Scheme: "http", Host: address})
		p.Out.Host = r.Host
		for name, values := range b.headers {
			p.Out.Header[name] = values
		}
	}}
	proxy.ServeHTTP(w, r)
}

// address is the first of the Service's, asked for anew each time.
func (i *ingress) address(ctx context.Context, service types.NamespacedName) (string, error) {
	found, err := i.client.CoreV1().Endpoints(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("find %s: %w", service, err)
	}
	for _, subset := range found.Subsets {
		if len(subset.Addresses) > 0 {
			return plain(subset)
		}
	}
	return "", fmt.Errorf("%s has no addresses", service)
}

func plain(subset corev1.EndpointSubset) (string, error) {
	for _, port := range subset.Ports {
		if port.Name == "http" {
			return behind(subset.Addresses[0].IP, port.Port)
		}
	}
	return "", fmt.Errorf("no port is for plain HTTP: %v", subset.Ports)
}
