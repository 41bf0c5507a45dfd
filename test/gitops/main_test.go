package gitops

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

var (
	keepLogs = flag.Bool("keep", false, "keep the scratch directory with all logs, also after success")
	record   = flag.Bool("record", false, "write testdata anew")
)

const pluginImage = "etcdroll/kubectl-etcdroll"

// What all tests share: one cluster, on which the plugin's image stands for the
// program of this checkout.
var (
	shared   *cluster.Cluster
	programs = sync.OnceValues(func() (product.Programs, error) {
		return product.Build(context.Background(), filepath.Join(shared.Dir, "bin"), "trigger", "roll-fn")
	})
)

func TestMain(m *testing.M) {
	flag.Parse()
	images := map[string]string{pluginImage: "bin/kubectl-etcdroll"}
	os.Exit(cluster.Run(m, os.Stderr, cluster.Options{Images: images}, *keepLogs, func(c *cluster.Cluster) { shared = c }))
}
