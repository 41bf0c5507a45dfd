package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/etcdroll/etcdroll/test/e2e/child"
)

// EnvKubeconfig names a cluster to use instead of a local one. Its pods must be
// reachable from here by their addresses.
const EnvKubeconfig = "ETCDROLL_E2E_KUBECONFIG"

// Cluster is a running Kubernetes cluster.
type Cluster struct {
	Kubeconfig string
	Dir        string // scratch directory of this run; logs lie below it
	AuditLog   string // "" where the cluster is not ours
	Client     kubernetes.Interface
	Config     *rest.Config

	local *child.Process
	cli   string

	kubectlOnce sync.Mutex
	kubectl     string // path, once it was asked for
}

// Options of a local cluster. The zero value is what most tests want.
type Options struct {
	// Images are further images and the program that each of them stands for,
	// which need not exist before a pod wants it; a program may be followed by
	// fixed arguments, and after a comma by more programs. Paths are relative to
	// the scratch directory.
	Images map[string]string
	// Cgroup is a directory below which every container gets a cgroup of its own;
	// "" gives them none.
	Cgroup string
}

const upWithin = 2 * time.Minute

// Start gives the cluster of EnvKubeconfig or starts a local one below dir. The
// programs of the local cluster are built first if the cache has none.
func Start(ctx context.Context, dir string, progress io.Writer) (*Cluster, error) {
	return StartWith(ctx, dir, progress, Options{})
}

// StartWith is Start with options, which are for a local cluster only.
func StartWith(ctx context.Context, dir string, progress io.Writer, o Options) (*Cluster, error) {
	c := &Cluster{Dir: dir, Kubeconfig: os.Getenv(EnvKubeconfig)}
	if c.Kubeconfig == "" {
		if err := c.startLocal(ctx, progress, o); err != nil {
			return nil, err
		}
	}
	if err := c.connect(); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// Local says that the cluster is ours and ends with us.
func (c *Cluster) Local() bool { return c.local != nil }

func (c *Cluster) startLocal(ctx context.Context, progress io.Writer, o Options) error {
	root, err := Root(ctx)
	if err != nil {
		return err
	}
	c.cli = filepath.Join(c.Dir, "local")
	sources, log := filepath.Join(root, "test", "local"), filepath.Join(c.Dir, "local.log")
	if err := child.Run(ctx, child.Command{Name: "building the local cluster", Path: "go", Dir: sources, Log: log,
		Args: []string{"build", "-o", c.cli, "."}}); err != nil {
		return err
	}
	// Building the control plane can take long the first time; it is told apart
	// from starting, which has a deadline.
	if err := child.Run(ctx, child.Command{Name: "building the control plane", Path: c.cli, Dir: sources, Log: log, Err: progress,
		Args: []string{"build"}}); err != nil {
		return err
	}
	home := filepath.Join(c.Dir, "cluster")
	c.Kubeconfig, c.AuditLog = filepath.Join(home, "kubeconfig"), filepath.Join(home, "audit.log")
	ready := &lineWatch{want: "export KUBECONFIG=", seen: make(chan struct{})}
	c.local, err = child.Start(child.Command{
		Name: "local cluster", Path: c.cli, Out: ready, Log: log,
		Args:     slices.Concat([]string{"up", "--foreground", "--nodes=4", "--backoff-base=1s", "--dir=" + home}, featureGates(), o.flags(c.Dir)),
		Farewell: syscall.SIGTERM,
	})
	if err != nil {
		return err
	}
	select {
	case <-ready.seen:
		return nil
	case <-c.local.Done():
		err = fmt.Errorf("the local cluster did not start:\n%s", c.local.Tail(20))
	case <-time.After(upWithin):
		err = fmt.Errorf("the local cluster was not ready within %s:\n%s", upWithin, c.local.Tail(20))
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	c.Stop()
	return err
}

func (o Options) flags(dir string) (flags []string) {
	if o.Cgroup != "" {
		flags = append(flags, "--cgroup="+o.Cgroup)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Images)) {
		var programs []string
		for program := range strings.SplitSeq(o.Images[name], ",") {
			programs = append(programs, filepath.Join(dir, program))
		}
		flags = append(flags, "--image="+name+"="+strings.Join(programs, ","))
	}
	return flags
}

func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS, config.UserAgent = -1, "etcdroll-e2e"
	c.Config = config
	c.Client, err = kubernetes.NewForConfig(config)
	return err
}

// Stop ends a local cluster. It may be called twice.
func (c *Cluster) Stop() {
	if c.local == nil || !c.local.Alive() {
		return
	}
	c.local.Stop(30 * time.Second)
	// Nothing is left to do unless the stop itself went wrong.
	_ = exec.Command(c.cli, "down", "--dir="+filepath.Join(c.Dir, "cluster")).Run()
}

// Namespace creates a namespace whose name starts with prefix and returns its
// name and how to remove it.
func (c *Cluster) Namespace(ctx context.Context, prefix string) (string, func(), error) {
	ns, err := c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}, metav1.CreateOptions{})
	if err != nil {
		return "", nil, fmt.Errorf("create namespace: %w", err)
	}
	return ns.Name, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		// Pods that nobody will look at again need no graceful end.
		now := int64(0)
		_ = c.Client.AppsV1().StatefulSets(ns.Name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		_ = c.Client.CoreV1().Pods(ns.Name).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
		_ = c.Client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{})
	}, nil
}

// Root is the top directory of this checkout.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	file := strings.TrimSpace(string(out))
	if err != nil || file == "" || file == os.DevNull {
		return "", errors.New("not inside a checkout of etcdroll")
	}
	return filepath.Dir(file), nil
}

// lineWatch closes seen once a line that starts with want has passed.
type lineWatch struct {
	want string
	seen chan struct{}
	text strings.Builder
	done bool
}

func (w *lineWatch) Write(p []byte) (int, error) {
	w.text.Write(p)
	if !w.done && strings.Contains("\n"+w.text.String(), "\n"+w.want) && strings.HasSuffix(w.text.String(), "\n") {
		w.done = true
		close(w.seen)
	}
	return len(p), nil
}
