package e2e

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
	rolls    = flag.Int("rolls", 0, "how many rolls TestThirtyRolls makes; 0 skips it")

	fleetSize = flag.Int("fleet", 4, "how many sets of three TestFleetRollsInWaves has; a fifth of them, two at least, may roll at once")
)

// What all tests share: one cluster and the programs under test, which are built
// for the first test that wants them.
var (
	shared   *cluster.Cluster
	programs = sync.OnceValues(func() (product.Programs, error) {
		return product.Build(context.Background(), filepath.Join(shared.Dir, "bin"))
	})
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(cluster.Run(m, os.Stderr, cluster.Options{}, *keepLogs, func(c *cluster.Cluster) { shared = c }))
}
