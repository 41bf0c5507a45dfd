package service

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func pod(ns, name, ip string, isReady bool) *corev1.Pod {
	status := corev1.ConditionFalse
	if isReady {
		status = corev1.ConditionTrue
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": "fn"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}},
		Status:     corev1.PodStatus{PodIP: ip, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}},
	}
}

func svc(name, ip string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec: corev1.ServiceSpec{ClusterIP: ip, Selector: map[string]string{"app": "fn"}, Ports: ports}}
}

func TestCompute(t *testing.T) {
	ending := pod("ns", "ending", "127.16.0.4", true)
	ending.DeletionTimestamp = &metav1.Time{}
	pods := []*corev1.Pod{pod("ns", "b", "127.16.0.2", true), pod("ns", "a", "127.16.0.1", true),
		pod("ns", "unready", "127.16.0.3", false), pod("other", "a", "127.16.0.5", true), ending, pod("ns", "new", "", false)}
	headless := svc("set", corev1.ClusterIPNone)
	headless.Spec.PublishNotReadyAddresses = true
	table := Compute([]*corev1.Service{
		headless,
		svc("fn", "127.200.0.9",
			corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("http")},
			corev1.ServicePort{Port: 81, TargetPort: intstr.FromInt32(9000)},
			corev1.ServicePort{Port: 82},
			corev1.ServicePort{Port: 83, TargetPort: intstr.FromString("none")},
			corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP}),
		svc("elsewhere", "10.96.0.9", corev1.ServicePort{Port: 80}),
	}, pods)
	both := func(port string) []string { return []string{"127.16.0.1:" + port, "127.16.0.2:" + port} }
	want := []Route{{"127.200.0.9:80", both("8080")}, {"127.200.0.9:81", both("9000")}, {"127.200.0.9:82", both("82")}, {"127.200.0.9:83", nil}}
	if !reflect.DeepEqual(table.Routes, want) {
		t.Errorf("routes = %v\nwant     %v", table.Routes, want)
	}
	hosts := table.Hosts("ns")
	if !strings.HasPrefix(hosts, "127.200.0.9 fn fn.ns fn.ns.svc fn.ns.svc.cluster.local\n127.16.0.1 set set.ns ") {
		t.Errorf("hosts = %s", hosts)
	}
	if strings.Count(hosts, " set.ns.svc ") != 4 || strings.Contains(hosts, "elsewhere") {
		t.Errorf("hosts = %s", hosts)
	}
	if strings.Contains(table.Hosts("other"), " fn ") {
		t.Error("another namespace sees the short name")
	}
}

func server(t *testing.T, answer string) (*httptest.Server, string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, answer) }))
	t.Cleanup(s.Close)
	return s, strings.TrimPrefix(s.URL, "http://")
}

func TestProxyFollowsItsRoutes(t *testing.T) {
	_, one := server(t, "one")
	gone, two := server(t, "two")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func() string {
		response, err := client.Get("http://" + address)
		if err != nil {
			return "error"
		}
		defer func() { _ = response.Body.Close() }()
		body, _ := io.ReadAll(response.Body)
		return string(body)
	}
	proxy := NewProxy()
	set := func(routes ...Route) {
		t.Helper()
		if err := proxy.Set(routes); err != nil {
			t.Fatal(err)
		}
	}
	set(Route{address, []string{one, two}})
	if answers := get() + get() + get(); !strings.Contains(answers, "one") || !strings.Contains(answers, "two") {
		t.Errorf("three calls reached only %s", answers)
	}
	gone.Close()
	if answers := get() + get(); answers != "oneone" {
		t.Errorf("with one backend dead: %s", answers)
	}
	set(Route{address, nil})
	if answer := get(); answer != "error" {
		t.Errorf("without backends: %s", answer)
	}
	set()
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Error("still listening after the Service is gone")
	}
}
