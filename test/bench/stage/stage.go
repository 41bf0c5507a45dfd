// Package stage is what the bench plays on: one cluster with Knative Eventing
// and one set of real etcd members, which every variant rolls in its turn.
package stage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/child"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/knative/broker"
	"github.com/etcdroll/etcdroll/test/knative/eventing"
	"github.com/etcdroll/etcdroll/test/knative/mesh"
)

// Options of the bench.
type Options struct {
	Version  string // of etcd, before and after
	Members  int
	Cooldown time.Duration // soak after each restart, of those that soak
	Rate     int           // writes a second
	Keep     bool          // leave the scratch directory with all logs
}

// Stage is set up once and used for run after run.
type Stage struct {
	Options
	cluster  *cluster.Cluster
	mesh     *mesh.Mesh
	eventing *eventing.Eventing
	direct   *product.Place
	broker   *broker.Topology
	set      *etcdset.Set
	script   *script
	observer *observer.Observer // of the present run
	progress io.Writer
	endings  []func()
	rolls    int // template changes so far
}

const (
	formsWithin = 2 * time.Minute
	rollsWithin = 3 * time.Minute
)

// Open starts everything but the two parts of etcdroll, which live for a run.
func Open(ctx context.Context, o Options, progress io.Writer) (s *Stage, err error) {
	s = &Stage{Options: o, progress: progress}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	dir, err := os.MkdirTemp("", "etcdroll-bench-")
	if err != nil {
		return s, err
	}
	if o.Keep {
		_, _ = fmt.Fprintln(progress, "logs are in", dir)
	} else {
		s.atEnd(func() { _ = os.RemoveAll(dir) })
	}
	for _, part := range []struct {
		what string
		do   func(context.Context, string) error
	}{
		{"building", s.build}, {"starting a local cluster", s.startCluster}, {"starting Knative Eventing", s.startEventing},
		{"installing etcdroll", s.install}, {"creating the set", s.createSet},
	} {
		began := time.Now()
		if err := part.do(ctx, dir); err != nil {
			return s, fmt.Errorf("%s: %w", part.what, err)
		}
		_, _ = fmt.Fprintf(progress, "%s took %s\n", part.what, time.Since(began).Round(100*time.Millisecond))
	}
	return s, nil
}

func (s *Stage) atEnd(f func()) { s.endings = append(s.endings, f) }

// Close ends everything in the opposite order.
func (s *Stage) Close() {
	for i := len(s.endings) - 1; i >= 0; i-- {
		s.endings[i]()
	}
	s.endings = nil
}

// Directories below the scratch directory.
const (
	productDir = "product"
	imageDir   = "image"
)

func (s *Stage) build(ctx context.Context, dir string) error {
	root, err := cluster.Root(ctx)
	if err != nil {
		return err
	}
	if _, err := product.BuildShipped(ctx, filepath.Join(dir, productDir)); err != nil {
		return err
	}
	image := filepath.Join(dir, imageDir)
	if err := child.Run(ctx, child.Command{Name: "building graceless", Path: "go", Dir: root, Log: filepath.Join(dir, "build-graceless.log"),
		Env: []string{"CGO_ENABLED=0"}, Args: []string{"build", "-o", filepath.Join(image, graceless), "./test/bench/cmd/graceless"}}); err != nil {
		return err
	}
	etcd, err := eventing.Program(ctx, "etcd-v"+s.Version)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(etcd)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(image, "etcd"), text, 0o755)
}

func (s *Stage) startCluster(ctx context.Context, dir string) (err error) {
	s.cluster, err = cluster.StartWith(ctx, dir, s.progress, cluster.Options{Images: map[string]string{
		s.image(): imageDir + "/etcd," + imageDir + "/" + graceless}})
	if err != nil {
		return err
	}
	s.atEnd(s.cluster.Stop)
	if !s.cluster.Local() {
		return fmt.Errorf("the bench needs a cluster of its own; unset %s", cluster.EnvKubeconfig)
	}
	return nil
}

func (s *Stage) image() string { return "registry.local/etcd-graceless:v" + s.Version }

func (s *Stage) startEventing(ctx context.Context, dir string) (err error) {
	if s.mesh, err = mesh.Start(); err != nil {
		return err
	}
	s.atEnd(s.mesh.Stop)
	room := filepath.Join(dir, "room")
	if err := eventing.BuildRoom(ctx, room); err != nil {
		return err
	}
	if s.eventing, err = eventing.Start(ctx, s.cluster, s.mesh, room); err != nil {
		return err
	}
	s.atEnd(s.eventing.Stop)
	return nil
}

// install gives both topologies the same namespace and the same rights. Only one
// of them has its parts running at any time.
func (s *Stage) install(ctx context.Context, dir string) error {
	namespace, _, err := s.cluster.Namespace(ctx, "bench")
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, productDir)
	programs := product.Programs{Trigger: filepath.Join(bin, "trigger"), Function: filepath.Join(bin, "roll-fn")}
	if s.broker, err = broker.Install(ctx, s.cluster, s.mesh, programs, namespace); err != nil {
		return err
	}
	direct := *s.broker.Place
	direct.Env = nil
	s.direct = &direct
	parts, err := s.start(true)
	if err != nil {
		return err
	}
	defer parts.stop()
	return s.broker.Ready(ctx)
}
