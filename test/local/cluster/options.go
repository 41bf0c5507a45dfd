package cluster

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/etcdroll/etcdroll/test/local/image"
)

// Options of a new cluster.
type Options struct {
	Dir          Dir
	Nodes        int
	FeatureGates string   // passed to the three control plane programs
	AuditLog     string   // default: audit.log in Dir
	Images       []string // IMAGE=PATH[,PATH...], see image.Parse
	BackoffBase  time.Duration
	Cgroup       string            // existing directory below which every container gets a cgroup of its own
	Tied         bool              // every component dies with the calling thread
	Self         string            // this program; it is copied, so that it may go away
	Binaries     map[string]string // catalog name -> path
	Progress     io.Writer
}

// Versions of etcd that can be pod images.
var etcdVersions = []string{"3.5.24", "3.5.35", "3.6.16", "3.7.3"}

// PauseImage is a built-in image whose program only waits. Its `tool` subcommand
// has a few behaviours for tests.
const PauseImage = "registry.local/pause:dev"

// images is the image map: built-in ones, then those given by flag.
func (o Options) images(self string) (map[string][]string, error) {
	out := map[string][]string{PauseImage: {self + " pod-tool pause"}}
	for _, v := range etcdVersions {
		path := "etcd:" + o.Binaries["etcd-v"+v] // in the cache it has another name
		out["registry.local/etcd:v"+v] = []string{path}
		out["quay.io/coreos/etcd:v"+v] = []string{path}
	}
	given := map[string][]string{}
	for _, flag := range o.Images {
		name, paths, err := image.Parse(flag)
		if err != nil {
			return nil, err
		}
		given[name] = paths
	}
	maps.Copy(out, given)
	return out, nil
}

// ports picks n distinct free loopback ports below the range from which the
// kernel takes ports for outgoing connections, so that none is lost to one.
func ports(n int) ([]int, error) {
	var out []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for tries := 0; len(out) < n; tries++ {
		if tries > 1000 {
			return nil, fmt.Errorf("no free loopback port found")
		}
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		held, out = append(held, l), append(out, port)
	}
	return out, nil
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
