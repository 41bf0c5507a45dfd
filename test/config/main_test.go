package config

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

var keepLogs = flag.Bool("keep", false, "keep the scratch directory with all logs, also after success")

// What all tests share: one cluster, on which the images of config/ stand for
// the programs of this checkout.
var (
	shared   *cluster.Cluster
	programs = sync.OnceValues(func() (product.Programs, error) {
		return product.Build(context.Background(), filepath.Join(shared.Dir, "bin"), "trigger", "roll-fn")
	})
)

func TestMain(m *testing.M) {
	flag.Parse()
	images := map[string]string{"etcdroll/trigger": "bin/trigger", "etcdroll/roll-fn": "bin/roll-fn"}
	os.Exit(cluster.Run(m, os.Stderr, cluster.Options{Images: images}, *keepLogs, func(c *cluster.Cluster) { shared = c }))
}

func namespace(t *testing.T) string {
	t.Helper()
	name, remove, err := shared.Namespace(context.Background(), "config")
	must(t, err)
	t.Cleanup(remove)
	return name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func built(t *testing.T) product.Programs {
	t.Helper()
	p, err := programs()
	must(t, err)
	return p
}
