package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/test/local/cluster"
)

func simplePod(name, image string, args ...string) *corev1.Pod {
	grace := int64(2)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace, Containers: []corev1.Container{{Name: "main", Image: image, Args: args}}}}
}

func (l *local) create(t *testing.T, ns string, pod *corev1.Pod) {
	t.Helper()
	if _, err := l.client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (l *local) untilPod(t *testing.T, ns, name, what string, fits func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	eventually(t, what, func(ctx context.Context) error {
		pod, err := l.client.CoreV1().Pods(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !fits(pod) {
			return fmt.Errorf("status is %+v", pod.Status)
		}
		found = pod
		return nil
	})
	return found
}

func testServiceAccount(t *testing.T, l *local) {
	ns := l.namespace(t)
	pod := simplePod("reader", "registry.local/kubectl:dev", "get", "configmap", "kube-root-ca.crt", "-o", "name")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	l.create(t, ns, pod)
	l.untilPod(t, ns, "reader", "the pod without rights fails", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	log, err := l.run(t, "-n", ns, "logs", "reader")
	if err != nil || !strings.Contains(log, "system:serviceaccount:"+ns+":default") || !strings.Contains(log, "forbidden") {
		t.Errorf("log of the refused pod: %v\n%s", err, log)
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "read"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}}
	if _, err := l.client.RbacV1().Roles(ns).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "read"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "read"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "default", Namespace: ns}}}
	if _, err := l.client.RbacV1().RoleBindings(ns).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod.Name = "allowed"
	l.create(t, ns, pod)
	l.untilPod(t, ns, "allowed", "the pod with rights succeeds", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	if out := cli(t, l.dir, "logs", ns+"/allowed"); strings.TrimSpace(out) != "configmap/kube-root-ca.crt" {
		t.Errorf("the allowed pod printed %q", out)
	}
}

func testConfigMap(t *testing.T, l *local) {
	ns := l.namespace(t)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"}, Data: map[string]string{"mode": "one"}}
	if _, err := l.client.CoreV1().ConfigMaps(ns).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := simplePod("p", cluster.PauseImage)
	pod.Spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app/config"}}
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 10, ProbeHandler: corev1.ProbeHandler{
		Exec: &corev1.ExecAction{Command: []string{"local", "pod-tool", "test", "/etc/app/config/ready"}}}}
	l.create(t, ns, pod)
	read := func() (string, error) {
		return l.run(t, "-n", ns, "exec", "p", "--", "local", "pod-tool", "cat", "/etc/app/config/mode")
	}
	eventually(t, "the container reads the first value", func(context.Context) error { return expect(read, "one") })
	cm.Data = map[string]string{"mode": "two", "ready": ""}
	if _, err := l.client.CoreV1().ConfigMaps(ns).Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the container reads the second value", func(context.Context) error { return expect(read, "two") })
	l.untilPod(t, ns, "p", "the exec probe makes the pod ready", podReady)
}

func expect(read func() (string, error), want string) error {
	got, err := read()
	if err != nil || got != want {
		return fmt.Errorf("got %q, %w", got, err)
	}
	return nil
}

func testKill(t *testing.T, l *local) {
	ns := l.namespace(t)
	l.create(t, ns, simplePod("p", cluster.PauseImage))
	l.untilPod(t, ns, "p", "the pod is ready", podReady)
	eventually(t, "the program runs", func(context.Context) error {
		return expect(func() (string, error) { return strings.TrimSpace(cli(t, l.dir, "logs", ns+"/p")), nil }, "pausing")
	})
	watch, err := l.client.CoreV1().Pods(ns).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	cli(t, l.dir, "kill", ns+"/p")
	killed := time.Now()
	for event := range watch.ResultChan() {
		if p, ok := event.Object.(*corev1.Pod); ok && !podReady(p) {
			t.Logf("the death was visible after %s", time.Since(killed).Round(time.Millisecond))
			break
		}
	}
	pod := l.untilPod(t, ns, "p", "the container has restarted", func(p *corev1.Pod) bool {
		return p.Status.ContainerStatuses[0].RestartCount == 1 && podReady(p)
	})
	last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 137 || last.Signal != 9 {
		t.Errorf("last state is %+v, want exit code 137 by signal 9", last)
	}
	if out := cli(t, l.dir, "logs", ns+"/p", "--previous"); strings.TrimSpace(out) != "pausing" {
		t.Errorf("the first run's log is %q", out)
	}
}

func testClaim(t *testing.T, l *local) {
	ns := l.namespace(t)
	pod := simplePod("p", cluster.PauseImage)
	pod.Spec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: example0Claim(t)}
	if _, err := l.client.CoreV1().PersistentVolumeClaims(ns).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.create(t, ns, pod)
	l.untilPod(t, ns, "p", "the pod is ready", podReady)
	pattern := filepath.Join(l.dir, "volumes", ns+"_data_*")
	if dirs, err := filepath.Glob(pattern); err != nil || len(dirs) != 1 {
		t.Fatalf("directories of the claim: %v, %v", dirs, err)
	}
	if err := l.client.CoreV1().Pods(ns).Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := l.client.CoreV1().PersistentVolumeClaims(ns).Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the directory is gone", func(context.Context) error {
		dirs, err := filepath.Glob(pattern)
		if err == nil && len(dirs) > 0 {
			err = fmt.Errorf("still there: %v", dirs)
		}
		return err
	})
}

func example0Claim(t *testing.T) corev1.PersistentVolumeClaimSpec {
	set, _ := example(t, "any")
	return set.Spec.VolumeClaimTemplates[0].Spec
}

func testService(t *testing.T, l *local) {
	ns := l.namespace(t)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}}}}
	l.create(t, ns, simplePod("client", cluster.PauseImage))
	l.untilPod(t, ns, "client", "the client is ready", podReady)
	if _, err := l.client.CoreV1().Services(ns).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	server := simplePod("server", cluster.PauseImage, "serve", "$(IP):8080", "/etc/hosts")
	server.Labels = map[string]string{"app": "web"}
	c := &server.Spec.Containers[0]
	c.Command = []string{"local", "pod-tool"}
	c.Env = []corev1.EnvVar{{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}
	c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("http")}}}
	l.create(t, ns, server)
	eventually(t, "the client reaches the server by the Service's name", func(context.Context) error {
		return expect(func() (string, error) {
			out, err := l.run(t, "-n", ns, "exec", "client", "--", "local", "pod-tool", "get", "http://web."+ns+".svc/")
			return strings.TrimSpace(out), err
		}, "200")
	})
}
