package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/test/local/cluster"
)

func TestCluster(t *testing.T) {
	l := up(t, "--nodes", "4", "--backoff-base", "1s")
	t.Run("nodes are labelled", func(t *testing.T) { testNodes(t, l) })
	t.Run("etcd rolls and keeps its data", func(t *testing.T) { testEtcd(t, l) })
	t.Run("pods reach the API server with their own rights", func(t *testing.T) { testServiceAccount(t, l) })
	t.Run("a ConfigMap change reaches the container", func(t *testing.T) { testConfigMap(t, l) })
	t.Run("a killed container is restarted", func(t *testing.T) { testKill(t, l) })
	t.Run("a claim's directory goes with the claim", func(t *testing.T) { testClaim(t, l) })
	t.Run("components restart under living pods", func(t *testing.T) { testComponents(t, l) })
	t.Run("a second cluster in the same directory is refused", func(t *testing.T) { testRefusal(t, l) })
	t.Run("down leaves no process", func(t *testing.T) {
		before := records(t, l.dir)
		if len(before) < 6 { // five components and at least one pod
			t.Fatalf("only %d processes are recorded", len(before))
		}
		cli(t, l.dir, "down")
		assertGone(t, l.dir, before)
	})
}

func testNodes(t *testing.T, l *local) {
	nodes, err := l.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range nodes.Items {
		got = append(got, n.Labels[corev1.LabelHostname]+"/"+n.Labels[corev1.LabelTopologyZone]+"/"+n.Labels["pool"])
	}
	want := "local-0/zone-a/blue local-1/zone-b/blue local-2/zone-c/green local-3/zone-a/green"
	if strings.Join(got, " ") != want {
		t.Errorf("nodes are %v, want %s", got, want)
	}
}

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
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
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
	cli(t, l.dir, "kill", ns+"/p")
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

func testComponents(t *testing.T, l *local) {
	ns := l.namespace(t)
	l.create(t, ns, simplePod("before", cluster.PauseImage))
	l.untilPod(t, ns, "before", "the pod is ready", podReady)
	for _, name := range []string{"controller-manager", "scheduler", "apiserver"} {
		cli(t, l.dir, "stop-component", name)
		if name == "apiserver" { // what happens meanwhile must be told later
			cli(t, l.dir, "kill", ns+"/before")
		}
		cli(t, l.dir, "start-component", name)
	}
	l.untilPod(t, ns, "before", "the restart during the outage is visible", func(p *corev1.Pod) bool {
		return p.Status.ContainerStatuses[0].RestartCount == 1 && podReady(p)
	})
	l.create(t, ns, simplePod("after", cluster.PauseImage))
	l.untilPod(t, ns, "after", "a new pod is ready", podReady)
	if err := l.client.CoreV1().Pods(ns).Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the old pod is gone", func(context.Context) error {
		if uid, there := l.uids(t, ns)["before"]; there {
			return fmt.Errorf("uid %s", uid)
		}
		return nil
	})
}

func testRefusal(t *testing.T, l *local) {
	out, err := command(t, l.dir, "up").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a cluster already runs in") || strings.Count(strings.TrimSpace(string(out)), "\n") > 0 {
		t.Errorf("err = %v, output:\n%s", err, out)
	}
	if running, err := cluster.Running(cluster.Dir(l.dir)); err != nil || !running {
		t.Errorf("the refused up ended the first cluster: %v", err)
	}
}

// A cluster in the foreground ends with its process, however that one ends.
func TestForegroundEndsWithItsProcess(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "kill": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cluster")
			t.Cleanup(func() { cli(t, dir, "down") })
			cmd := command(t, dir, "up", "--foreground", "--nodes", "1")
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, 500)
			n, err := out.Read(line) // the export line: the cluster is up
			if err != nil {
				t.Fatal(err)
			}
			l := &local{t: t, dir: dir}
			l.connect(strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "export KUBECONFIG=")))
			l.create(t, "default", simplePod("p-"+name, cluster.PauseImage))
			l.untilPod(t, "default", "p-"+name, "the pod is ready", podReady)
			before := records(t, dir)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Error("the process did not end")
			}
			assertGone(t, dir, before)
		})
	}
}
