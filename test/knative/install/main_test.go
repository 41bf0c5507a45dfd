package install

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/knative/eventing"
	"github.com/etcdroll/etcdroll/test/knative/mesh"
	"github.com/etcdroll/etcdroll/test/knative/serving"
)

var keepLogs = flag.Bool("keep", false, "keep the scratch directory with all logs, also after success")

// What all tests share: a cluster with Knative Serving, and the mesh.
var (
	shared  *cluster.Cluster
	network *mesh.Mesh
	running *serving.Serving
	knative = sync.OnceValue(func() (err error) {
		if err = programs(); err == nil {
			running, err = serving.Start(context.Background(), shared, network, room())
		}
		return err
	})
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("a cluster with Knative takes minutes; not with -short")
		os.Exit(0)
	}
	var err error
	if network, err = mesh.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(cluster.Run(tests{m}, os.Stderr, cluster.Options{Images: images(network.Port())}, *keepLogs, func(c *cluster.Cluster) { shared = c }))
}

// images stand for the programs of this checkout, and for queue-proxy. All pods of
// the local cluster share the host's network, where each of these would listen on
// every address; so each program has a room of its own, from which it reaches what
// it needs, and in which names are found by the mesh.
func images(mesh string) map[string]string {
	const inRoom = "bin/room -out=$KUBERNETES_SERVICE_PORT "
	return map[string]string{
		"etcdroll/trigger":    inRoom + "-in=8080 -out=" + mesh + " -env=HTTP_PROXY=127.0.0.1:" + mesh + " -- trigger,bin/trigger",
		"etcdroll/roll-fn":    inRoom + "-in=8080 -out=2379 -- roll-fn,bin/roll-fn",
		serving.QueueImage:    inRoom + "-in=8012 -in=8013 -in=8022 -in=9090 -in=9091 -out=8080=$SERVING_POD_IP:8080 -- queue,bin/queue",
		"registry.local/none": "bin/none",
	}
}

// programs puts what the images stand for in its place.
func programs() error {
	ctx, bin := context.Background(), filepath.Dir(room())
	if _, err := product.Build(ctx, bin, "trigger", "roll-fn"); err != nil {
		return err
	}
	if err := eventing.BuildRoom(ctx, room()); err != nil {
		return err
	}
	queue, err := eventing.Program(ctx, "serving-queue")
	if err != nil {
		return err
	}
	return os.Symlink(queue, filepath.Join(bin, "queue"))
}

func room() string { return filepath.Join(shared.Dir, "bin", "room") }

// tests ends what the tests share before the cluster ends.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer network.Stop()
	code := t.M.Run()
	if scaledOne != nil {
		if err := scaledOne.close(); err != nil {
			fmt.Fprintln(os.Stderr, "FAIL: writes were lost:", err)
			code = 1
		}
	}
	if running != nil {
		running.Stop()
	}
	return code
}

// withServing starts Serving for the first test that wants it.
func withServing(t *testing.T) {
	t.Helper()
	must(t, knative())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(running.Logs())
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
