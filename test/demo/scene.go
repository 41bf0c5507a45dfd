package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
)

// scene is everything that the demo starts, and how it is ended.
type scene struct {
	options
	screen   *screen
	cluster  *cluster.Cluster
	programs product.Programs
	endings  []func()
	live     []string // the live view in mid-roll, once it was taken
}

const (
	formsWithin = 2 * time.Minute
	rollsWithin = 10 * time.Minute
)

func newScene(ctx context.Context, o options) (s *scene, err error) {
	s = &scene{options: o, screen: newScreen(o.plain)}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	dir, err := os.MkdirTemp("", "etcdroll-demo-")
	if err != nil {
		return s, err
	}
	s.atEnd(func() { _ = os.RemoveAll(dir) })
	s.screen.line("building trigger and roll-fn")
	if s.programs, err = product.Build(ctx, dir, "trigger", "roll-fn"); err != nil {
		return s, err
	}
	s.screen.line("starting a local cluster: kube-apiserver, controller manager, scheduler, node agent (built first if need be)")
	if s.cluster, err = cluster.Start(ctx, dir, os.Stderr); err != nil {
		return s, err
	}
	s.atEnd(s.cluster.Stop)
	return s, nil
}

func (s *scene) atEnd(f func()) { s.endings = append(s.endings, f) }

// end undoes everything in the opposite order.
func (s *scene) end() {
	for i := len(s.endings) - 1; i >= 0; i-- {
		s.endings[i]()
	}
	s.endings = nil
}

// linger leaves everything running for a person to explore.
func (s *scene) linger(ctx context.Context) {
	s.screen.line("")
	s.screen.line("everything keeps running; press Ctrl-C to end it. To explore:")
	s.screen.line("  export KUBECONFIG=%s", s.cluster.Kubeconfig)
	<-ctx.Done()
}

// actors are one set with what writes to it and watches it.
type actors struct {
	name     string
	set      *etcdset.Set
	observer *observer.Observer
	writer   *writer.Writer
	version  map[string]string // revision name -> etcd version
}

// act creates a set, waits until it has formed, puts leadership where the demo
// wants it, and starts to write.
func (s *scene) act(ctx context.Context, name string, o etcdset.Options) (*actors, error) {
	namespace, remove, err := s.cluster.Namespace(ctx, "demo")
	if err != nil {
		return nil, err
	}
	s.atEnd(remove)
	o.Namespace, o.Version = namespace, s.from
	a := &actors{name: name, version: map[string]string{}}
	s.screen.line("creating three members of etcd %s in namespace %s", s.from, namespace)
	if a.set, err = etcdset.Create(ctx, s.cluster.Client, o); err != nil {
		return nil, err
	}
	if a.observer, err = observer.Start(ctx, s.cluster.Client, namespace, a.set.Name); err != nil {
		return nil, err
	}
	s.atEnd(a.observer.Stop)
	if err := a.observer.Until(ctx, formsWithin, "the set has not formed", observer.View.AllUp); err != nil {
		return nil, err
	}
	return a, s.startWriter(ctx, a)
}

func (s *scene) startWriter(ctx context.Context, a *actors) error {
	endpoints, err := a.set.Endpoints(ctx)
	if err != nil {
		return err
	}
	var list []string
	for _, e := range endpoints {
		list = append(list, e)
	}
	if a.writer, err = writer.Start(list, s.rate); err != nil {
		return err
	}
	s.screen.line("writing: %d puts a second, each with a deadline of %s", s.rate, writer.Deadline)
	return nil
}

// change applies the new version and remembers which revision is which.
func (s *scene) change(ctx context.Context, a *actors) error {
	before := a.observer.Set()
	a.version[before.Update] = s.from
	s.screen.line("applying the new template: etcd %s -> %s", s.from, s.to)
	if err := a.set.Apply(ctx, etcdset.Template(etcdset.ToVersion(s.to))); err != nil {
		return err
	}
	err := a.observer.Until(ctx, formsWithin, "the controller has not seen the change", func(v observer.View) bool {
		return v.Set.Observed == v.Set.Generation && v.Set.Update != before.Update
	})
	a.version[a.observer.Set().Update] = s.to
	return err
}

// finish stops the writer, which reads back every acknowledged write.
func (a *actors) finish(ctx context.Context, from observer.Mark, began time.Time) (result, error) {
	report, err := a.observer.Report(from)
	if err != nil {
		return result{}, err
	}
	tally, samples := a.writer.Tally(began), a.writer.Samples(began)
	if err := a.writer.Stop(ctx); err != nil {
		return result{}, fmt.Errorf("writer: %w", err)
	}
	return result{name: a.name, Report: report, tally: tally, samples: samples}, nil
}
