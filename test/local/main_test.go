package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/etcdroll/etcdroll/test/local/binaries"
	"github.com/etcdroll/etcdroll/test/local/proc"
)

// The test binary is the command line program too, under its subcommands.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(execute(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// local is one cluster under test.
type local struct {
	t       *testing.T
	dir     string
	client  kubernetes.Interface
	kubectl string
}

// command prepares the program with a subcommand for the cluster in dir.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(self, append(args, "--dir", dir)...)
}

// cli runs a subcommand that must succeed.
func cli(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := command(t, dir, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// up starts a cluster; missing programs are built first, which can take half an hour.
func up(t *testing.T, args ...string) *local {
	t.Helper()
	b, err := binaries.NewBuilder(os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	kubectl, err := b.Build(t.Context(), "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	l := &local{t: t, dir: filepath.Join(t.TempDir(), "cluster"), kubectl: kubectl}
	t.Cleanup(func() { cli(t, l.dir, "down") })
	args = append([]string{"up", "--foreground", "--image", "registry.local/kubectl:dev=kubectl:" + kubectl}, args...)
	l.connect(startForeground(t, command(t, l.dir, args...)))
	return l
}

// startForeground starts `up --foreground` and returns the kubeconfig's path once
// the cluster is up.
func startForeground(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the cluster did not start: %v", err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "export KUBECONFIG="))
}

func (l *local) connect(kubeconfig string) {
	l.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		l.t.Fatal(err)
	}
	config.QPS = -1
	if l.client, err = kubernetes.NewForConfig(config); err != nil {
		l.t.Fatal(err)
	}
}

// run executes kubectl as the administrator.
func (l *local) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(l.kubectl, append([]string{"--kubeconfig", filepath.Join(l.dir, "kubeconfig")}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (l *local) namespace(t *testing.T) string {
	t.Helper()
	ns, err := l.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace can hold pods", func(ctx context.Context) error {
		if _, err := l.client.CoreV1().ConfigMaps(ns.Name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
			return err
		}
		_, err := l.client.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return ns.Name
}

// eventually polls for up to two minutes; the last failure is reported.
func eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("it does not come true that %s: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// records lists every process of the cluster that is recorded now.
func records(t *testing.T, dir string) []proc.Record {
	t.Helper()
	var all []proc.Record
	for _, sub := range []string{"run", "run/containers"} {
		some, err := proc.List(filepath.Join(dir, sub))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

// assertGone checks that none of the processes lives and that no process on the
// machine mentions the cluster's directory.
func assertGone(t *testing.T, dir string, before []proc.Record) {
	t.Helper()
	eventually(t, "no process is left", func(context.Context) error {
		for _, r := range before {
			if r.Alive() {
				return fmt.Errorf("%s (pid %d) lives", r.Name, r.PID)
			}
		}
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		for _, file := range lines {
			text, err := os.ReadFile(file)
			if err == nil && bytes.Contains(text, []byte(dir+"/")) {
				return fmt.Errorf("%s: %s", file, bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
			}
		}
		return nil
	})
}
