package gitops

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

const (
	formsWithin = 90 * time.Second
	rollsWithin = 3 * time.Minute
)

// stage is one set in a namespace of its own.
type stage struct {
	*testing.T
	ctx       context.Context
	namespace string
	set       *etcdset.Set
	observer  *observer.Observer
	mark      observer.Mark
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newStage creates a set and waits until it has formed. Nobody looks after it.
func newStage(t *testing.T, o etcdset.Options) *stage {
	t.Helper()
	s := &stage{T: t, ctx: context.Background()} // whatever waits has a deadline of its own
	name, remove, err := shared.Namespace(s.ctx, "gitops")
	must(t, err)
	t.Cleanup(remove)
	s.namespace, o.Namespace = name, name
	s.set, err = etcdset.Create(s.ctx, shared.Client, o)
	must(t, err)
	s.observer, err = observer.Start(s.ctx, shared.Client, name, s.set.Name)
	must(t, err)
	t.Cleanup(s.observer.Stop)
	s.until(formsWithin, "the set has not formed", observer.View.AllUp)
	s.mark = s.observer.Mark()
	return s
}

// parts starts a function and a trigger.
func (s *stage) parts() (trigger *product.Part) {
	s.Helper()
	built, err := programs()
	must(s.T, err)
	place, err := product.Install(s.ctx, shared, built, s.namespace, false)
	must(s.T, err)
	function := s.part(place.Function())
	return s.part(place.Trigger(function.URL, "--leader-elect=false"))
}

// tended is parts, and waits until they call the set converged.
func (s *stage) tended() (trigger *product.Part) {
	s.Helper()
	trigger = s.parts()
	s.until(rollsWithin, "the set is not marked", observer.View.Settled)
	return trigger
}

func (s *stage) part(p *product.Part, err error) *product.Part {
	s.Helper()
	must(s.T, err)
	s.Cleanup(func() {
		p.Stop()
		if s.Failed() {
			s.Logf("log of this part: %s", p.Log())
		}
	})
	return p
}

func (s *stage) until(within time.Duration, what string, wanted func(observer.View) bool) {
	s.Helper()
	must(s.T, s.observer.Until(s.ctx, within, what, wanted))
}

// phased waits for a phase of the present target.
func (s *stage) phased(phase string) {
	s.Helper()
	s.until(rollsWithin, "the phase is not "+phase, func(v observer.View) bool {
		return v.Set.Observed == v.Set.Generation && v.Set.Annotations[events.AnnotationPhase] == phase
	})
}

func (s *stage) edit(change func(*appsv1.StatefulSet)) {
	s.Helper()
	must(s.T, s.set.Apply(s.ctx, change))
	s.until(formsWithin, "the change is not seen", func(v observer.View) bool {
		return v.Set.Observed == v.Set.Generation && v.Set.Update != v.Set.Annotations[events.AnnotationConvergedRevision]
	})
}

// rolled waits for the end of a roll and checks what holds for every one.
func (s *stage) rolled() observer.Report {
	s.Helper()
	s.until(rollsWithin, "the roll has not ended", observer.View.Settled)
	r, err := s.observer.Report(s.mark)
	must(s.T, err)
	if r.Unplanned != 0 || r.PodsDown > 1 || r.MembersDown > 1 || len(r.Led) != 0 {
		s.Errorf("%d unplanned elections, %d pods and %d members down at one time, leaders given up: %v", r.Unplanned, r.PodsDown, r.MembersDown, r.Led)
	}
	return r
}

func (s *stage) live() *appsv1.StatefulSet {
	s.Helper()
	live, err := shared.Client.AppsV1().StatefulSets(s.namespace).Get(s.ctx, s.set.Name, metav1.GetOptions{})
	must(s.T, err)
	return live
}
