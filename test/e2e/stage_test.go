package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
)

// How long things may take on a machine that runs several sets at once.
const (
	formsWithin = 90 * time.Second
	rollsWithin = 3 * time.Minute
)

// stage is one set in a namespace of its own, with everything that watches it.
type stage struct {
	*testing.T
	ctx       context.Context
	namespace string
	set       *etcdset.Set
	observer  *observer.Observer
	writer    *writer.Writer
	mark      observer.Mark
	secrets   []string // that the function may read
}

// quick is a managed set with little patience.
func quick() etcdset.Options { return etcdset.Options{Config: etcdset.Quick()} }

// newStage creates a set, waits until it has formed and starts to write to it.
func newStage(t *testing.T, o etcdset.Options) *stage {
	s := emptyStage(t)
	s.create(o)
	s.formed()
	s.write(50)
	return s
}

func emptyStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, ctx: context.Background()} // whatever waits has a deadline of its own
	name, remove, err := shared.Namespace(s.ctx, "e2e")
	s.must(err)
	t.Cleanup(remove)
	s.namespace = name
	return s
}

// beside is another set in the same namespace.
func (s *stage) beside(o etcdset.Options) *stage {
	s.Helper()
	other := &stage{T: s.T, ctx: s.ctx, namespace: s.namespace}
	other.create(o)
	other.formed()
	other.write(50)
	return other
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) create(o etcdset.Options) {
	s.Helper()
	o.Namespace = s.namespace
	var err error
	s.set, err = etcdset.Create(s.ctx, shared.Client, o)
	s.must(err)
	s.observer, err = observer.Start(s.ctx, shared.Client, s.namespace, s.set.Name)
	s.must(err)
	s.Cleanup(s.observer.Stop)
	s.mark = s.observer.Mark()
}

func (s *stage) formed() {
	s.Helper()
	s.must(s.observer.Until(s.ctx, formsWithin, "the set has not formed", observer.View.AllUp))
}

// write starts a writer whose acknowledged writes must all be there at the end.
func (s *stage) write(perSecond int) {
	s.Helper()
	endpoints, err := s.set.Endpoints(s.ctx)
	s.must(err)
	s.writer, err = writer.Start(slices.Collect(maps.Values(endpoints)), perSecond)
	s.must(err)
	s.Cleanup(func() {
		if err := s.writer.Stop(s.ctx); err != nil {
			s.Error(err)
		}
	})
}

// leaderAt puts leadership where the test wants it and counts from then on.
func (s *stage) leaderAt(index int) {
	s.Helper()
	s.must(s.set.LeadWith(s.ctx, index))
	s.mark = s.observer.Mark()
}

func (s *stage) report() observer.Report {
	s.Helper()
	r, err := s.observer.Report(s.mark)
	s.must(err)
	return r
}
