// Package service makes Services work without kube-proxy and DNS: cluster IPs are
// loopback addresses that the node agent listens on, and names are lines of each
// container's /etc/hosts.
package service

import (
	"fmt"
	"net"
	"slices"
	"sort"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Route is one address that is served and where its connections go.
type Route struct {
	Listen   string   // host:port
	Backends []string // host:port of ready pods, in the order of their names
}

// Table is what follows from the cluster's Services and pods.
type Table struct {
	Routes []Route
	names  []name
}

type name struct {
	namespace, service string
	ips                []string
}

// Compute builds the table. It is pure; pods that are ending or have no address
// are no backends, and neither are unready ones unless the Service publishes them.
func Compute(services []*corev1.Service, pods []*corev1.Pod) Table {
	services, pods = slices.Clone(services), slices.Clone(pods)
	sort.Slice(services, func(i, j int) bool { return key(&services[i].ObjectMeta) < key(&services[j].ObjectMeta) })
	sort.Slice(pods, func(i, j int) bool { return key(&pods[i].ObjectMeta) < key(&pods[j].ObjectMeta) })
	var t Table
	for _, s := range services {
		backends := behind(s, pods)
		if s.Spec.ClusterIP == corev1.ClusterIPNone {
			var ips []string
			for _, p := range backends {
				ips = append(ips, p.Status.PodIP)
			}
			t.names = append(t.names, name{s.Namespace, s.Name, ips})
			continue
		}
		ip := net.ParseIP(s.Spec.ClusterIP)
		if ip == nil || !ip.IsLoopback() || len(s.Spec.Selector) == 0 {
			continue
		}
		t.names = append(t.names, name{s.Namespace, s.Name, []string{s.Spec.ClusterIP}})
		for _, port := range s.Spec.Ports {
			if port.Protocol == corev1.ProtocolTCP || port.Protocol == "" {
				t.Routes = append(t.Routes, route(s.Spec.ClusterIP, port, backends))
			}
		}
	}
	return t
}

// Hosts is the part of /etc/hosts that names Services, as seen from a namespace.
func (t Table) Hosts(namespace string) string {
	var b strings.Builder
	for _, n := range t.names {
		names := fmt.Sprintf("%[1]s.%[2]s %[1]s.%[2]s.svc %[1]s.%[2]s.svc.cluster.local", n.service, n.namespace)
		if n.namespace == namespace {
			names = n.service + " " + names
		}
		for _, ip := range n.ips {
			_, _ = fmt.Fprintf(&b, "%s %s\n", ip, names)
		}
	}
	return b.String()
}

func behind(s *corev1.Service, pods []*corev1.Pod) []*corev1.Pod {
	if len(s.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.SelectorFromSet(s.Spec.Selector)
	var out []*corev1.Pod
	for _, p := range pods {
		if p.Namespace == s.Namespace && selector.Matches(labels.Set(p.Labels)) && p.Status.PodIP != "" &&
			(s.Spec.PublishNotReadyAddresses || p.DeletionTimestamp == nil && ready(p)) {
			out = append(out, p)
		}
	}
	return out
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func route(ip string, port corev1.ServicePort, pods []*corev1.Pod) Route {
	r := Route{Listen: net.JoinHostPort(ip, strconv.Itoa(int(port.Port)))}
	for _, p := range pods {
		if target := targetPort(port, p); target > 0 {
			r.Backends = append(r.Backends, net.JoinHostPort(p.Status.PodIP, strconv.Itoa(target)))
		}
	}
	return r
}

// targetPort is a number, a name that a container of the pod gives, or the
// Service's own port. 0 means that the pod has no such port.
func targetPort(port corev1.ServicePort, p *corev1.Pod) int {
	target := port.TargetPort
	switch {
	case target.Type == intstr.Int && target.IntVal > 0:
		return int(target.IntVal)
	case target.Type == intstr.Int:
		return int(port.Port)
	}
	for _, c := range p.Spec.Containers {
		for _, cp := range c.Ports {
			if cp.Name == target.StrVal {
				return int(cp.ContainerPort)
			}
		}
	}
	return 0
}

func key(m interface {
	GetNamespace() string
	GetName() string
}) string {
	return m.GetNamespace() + "/" + m.GetName()
}
