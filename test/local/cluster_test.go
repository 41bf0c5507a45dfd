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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sys/unix"

	"github.com/etcdroll/etcdroll/test/local/cluster"
	"github.com/etcdroll/etcdroll/test/local/proc"
)

func TestCluster(t *testing.T) {
	l := up(t, "--nodes", "4", "--backoff-base", "1s")
	t.Run("nodes are labelled", func(t *testing.T) { testNodes(t, l) })
	t.Run("etcd rolls and keeps its data", func(t *testing.T) { testEtcd(t, l) })
	t.Run("pods reach the API server with their own rights", func(t *testing.T) { testServiceAccount(t, l) })
	t.Run("a ConfigMap change reaches the container", func(t *testing.T) { testConfigMap(t, l) })
	t.Run("a Service is reached by name", func(t *testing.T) { testService(t, l) })
	t.Run("a killed container is restarted", func(t *testing.T) { testKill(t, l) })
	t.Run("a claim's directory goes with the claim", func(t *testing.T) { testClaim(t, l) })
	t.Run("a component that crashes comes back", func(t *testing.T) { testCrashedComponent(t, l) })
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

func testCrashedComponent(t *testing.T, l *local) {
	run := filepath.Join(l.dir, "run")
	old, err := proc.Read(run, "scheduler")
	if err != nil || !old.Alive() {
		t.Fatalf("the scheduler does not run: %v", err)
	}
	if err := old.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another scheduler runs", func(context.Context) error {
		now, err := proc.Read(run, "scheduler")
		if err == nil && (now.PID == old.PID || !now.Alive()) {
			err = fmt.Errorf("the record is %+v", now)
		}
		return err
	})
	cli(t, l.dir, "stop-component", "scheduler") // one stopped on purpose must stay so
	time.Sleep(3 * time.Second)                  // longer than a crashed one waits for its restart
	if _, err := os.Stat(filepath.Join(run, "scheduler.json")); err == nil {
		t.Error("a component that was stopped on purpose was started again")
	}
	cli(t, l.dir, "start-component", "scheduler")
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
			l := &local{t: t, dir: dir}
			l.connect(startForeground(t, cmd))
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
