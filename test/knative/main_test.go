package knative

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

var keepLogs = flag.Bool("keep", false, "keep the scratch directory with all logs, also after success")

var shared *cluster.Cluster

// lateImage is an etcd whose program is not there when it is first wanted.
const (
	lateImage   = "registry.local/etcd:late"
	lateProgram = "late/etcd"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("a cluster with Knative takes minutes; not with -short")
		os.Exit(0)
	}
	options := cluster.Options{Images: map[string]string{lateImage: lateProgram}}
	os.Exit(cluster.Run(tests{m}, os.Stderr, options, *keepLogs, func(c *cluster.Cluster) { shared = c }))
}

// tests ends what the tests share before the cluster ends.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer func() {
		if made != nil {
			made.close()
		}
	}()
	return t.M.Run()
}
