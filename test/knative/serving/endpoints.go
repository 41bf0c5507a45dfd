package serving

//lint:file-ignore SA1019 Serving looks for addresses in Endpoints and nowhere else

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Serving looks for a revision's pods in the Endpoints of its private Service.
const (
	serviceType = "networking.internal.knative.dev/serviceType"
	private     = "Private"
)

// endpoints does for private Services what the endpoints controller does, which
// cannot run here because the API server refuses the pods' loopback addresses.
type endpoints struct {
	client   kubernetes.Interface
	services corelisters.ServiceLister
	pods     corelisters.PodLister
	kicked   chan struct{}
}

func startEndpoints(ctx context.Context, client kubernetes.Interface) error {
	shared := informers.NewSharedInformerFactory(client, 0)
	e := &endpoints{client: client, services: shared.Core().V1().Services().Lister(), pods: shared.Core().V1().Pods().Lister(), kicked: make(chan struct{}, 1)}
	for _, informer := range []cache.SharedIndexInformer{shared.Core().V1().Services().Informer(), shared.Core().V1().Pods().Informer()} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { e.kick() }, UpdateFunc: func(any, any) { e.kick() }, DeleteFunc: func(any) { e.kick() }}); err != nil {
			return err
		}
	}
	shared.Start(ctx.Done())
	shared.WaitForCacheSync(ctx.Done())
	go e.run(ctx)
	return nil
}

func (e *endpoints) kick() {
	select {
	case e.kicked <- struct{}{}:
	default:
	}
}

func (e *endpoints) run(ctx context.Context) {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.kicked:
		case <-again:
		}
		again = nil
		if e.sync(ctx) != nil {
			again = time.After(200 * time.Millisecond) // somebody wrote meanwhile
		}
	}
}

func (e *endpoints) sync(ctx context.Context) error {
	services, err := e.services.List(labels.SelectorFromSet(labels.Set{serviceType: private}))
	if err != nil {
		return err
	}
	var failed []error
	for _, service := range services {
		pods, err := e.pods.Pods(service.Namespace).List(labels.SelectorFromSet(service.Spec.Selector))
		if err == nil {
			err = e.write(ctx, service, subsets(service, pods))
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func (e *endpoints) write(ctx context.Context, service *corev1.Service, wanted []corev1.EndpointSubset) error {
	endpoints := e.client.CoreV1().Endpoints(service.Namespace)
	now, err := endpoints.Get(ctx, service.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID}
		_, err = endpoints.Create(ctx, &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: service.Name, Labels: service.Labels,
			OwnerReferences: []metav1.OwnerReference{owner}}, Subsets: wanted}, metav1.CreateOptions{})
		return err
	}
	if err != nil || equality.Semantic.DeepEqual(now.Subsets, wanted) && maps.Equal(now.Labels, service.Labels) {
		return err
	}
	now.Subsets, now.Labels = wanted, service.Labels
	_, err = endpoints.Update(ctx, now, metav1.UpdateOptions{})
	return err
}

// subsets are the pods behind the Service; those that end are not.
func subsets(service *corev1.Service, pods []*corev1.Pod) []corev1.EndpointSubset {
	var s corev1.EndpointSubset
	var like *corev1.Pod
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, pod := range pods {
		ip, err := endpointOf(pod.Status.PodIP)
		if err != nil || pod.DeletionTimestamp != nil {
			continue
		}
		like = pod
		if ready(pod) {
			s.Addresses = append(s.Addresses, corev1.EndpointAddress{IP: ip})
		} else {
			s.NotReadyAddresses = append(s.NotReadyAddresses, corev1.EndpointAddress{IP: ip})
		}
	}
	if like == nil {
		return nil
	}
	for _, port := range service.Spec.Ports {
		if number := target(port, like); number > 0 {
			s.Ports = append(s.Ports, corev1.EndpointPort{Name: port.Name, Port: podPorts + number, Protocol: corev1.ProtocolTCP, AppProtocol: port.AppProtocol})
		}
	}
	return []corev1.EndpointSubset{s}
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func target(port corev1.ServicePort, pod *corev1.Pod) int32 {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal
	}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port.TargetPort.StrVal {
				return p.ContainerPort
			}
		}
	}
	return 0
}
