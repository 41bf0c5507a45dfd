// Package pulumi rolls etcd through the real Pulumi: its CLI, its Kubernetes
// provider, its host for YAML, and our npm package in Node.
package pulumi

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

var keepLogs = flag.Bool("keep", false, "keep the scratch directory with all logs, also after success")

var (
	shared   *cluster.Cluster
	programs = sync.OnceValues(func() (product.Programs, error) {
		return product.Build(context.Background(), filepath.Join(shared.Dir, "bin"), "trigger", "roll-fn")
	})
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("Pulumi's programs take 40 CPU minutes to build; not with -short")
		os.Exit(0)
	}
	os.Exit(cluster.Run(m, os.Stderr, cluster.Options{}, *keepLogs, func(c *cluster.Cluster) { shared = c }))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func named(name string) func(corev1.EnvVar) bool {
	return func(e corev1.EnvVar) bool { return e.Name == name }
}
