package e2e

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

var getOptions metav1.GetOptions

// install applies the ServiceAccounts and rights of the two parts, as they are
// shipped, to the stage's namespace.
func (s *stage) install(mayDelete bool) *product.Place {
	s.Helper()
	built, err := programs()
	s.must(err)
	place, err := product.Install(s.ctx, shared, built, s.namespace, mayDelete, s.secrets...)
	s.must(err)
	return place
}

// direct runs one trigger and one function, as most tests want them.
func (s *stage) direct() (trigger, function *product.Part) {
	s.Helper()
	place := s.install(false)
	function = s.part(place.Function())
	return s.part(place.Trigger(function.URL, "--leader-elect=false")), function
}

// part sees to it that the part ends with the test, and that its log is shown
// if the test fails.
func (s *stage) part(p *product.Part, err error) *product.Part {
	s.Helper()
	s.must(err)
	s.Cleanup(func() {
		p.Stop()
		if s.Failed() {
			s.Logf("log of this part: %s", p.Log())
		}
	})
	return p
}

// settled waits until the roll has ended well and gives the report.
func (s *stage) settled() observer.Report {
	s.Helper()
	s.must(s.observer.Until(s.ctx, rollsWithin, "the roll has not ended", observer.View.Settled))
	return s.report()
}

// safe checks what must hold for every roll, however it went: no election that
// was not announced, no leader given up, never two away, one pod for each time
// the set was open.
func safe(t *testing.T, r observer.Report) {
	t.Helper()
	if r.Unplanned != 0 {
		t.Errorf("%d unplanned elections: %+v; announced were %+v", r.Unplanned, r.Elections, r.Announced)
	}
	if got := int(r.LastTerm - r.FirstTerm); got != r.Planned+r.Unplanned {
		t.Errorf("the term rose by %d, which is not %d moves and %d elections", got, r.Planned, r.Unplanned)
	}
	for _, led := range r.Led {
		t.Error(led)
	}
	if r.PodsDown > 1 || r.MembersDown > 1 {
		t.Errorf("%d pods and %d members were down at one time", r.PodsDown, r.MembersDown)
	}
	for _, w := range r.Windows {
		if len(w.Replaced) > 1 || w.Released > 1 {
			t.Errorf("one opening released %d and replaced %v: %+v", w.Released, w.Replaced, w)
		}
	}
}

// once checks that each pod was replaced exactly once, from the highest index
// down, with the set locked before, between and after.
func once(t *testing.T, r observer.Report) {
	t.Helper()
	replicas := r.Final.Set.Replicas
	want := []int{replicas}
	for i := replicas - 1; i >= 0; i-- {
		want = append(want, i, replicas)
		if r.Deletions[i] != 1 {
			t.Errorf("pod %d was deleted %d times, want once", i, r.Deletions[i])
		}
	}
	if !slices.Equal(r.Partitions, want) {
		t.Errorf("partition went %v, want %v", r.Partitions, want)
	}
}

// converged checks the annotations at the end of a roll.
func converged(t *testing.T, r observer.Report) {
	t.Helper()
	if !r.Final.Settled() {
		t.Errorf("not converged and locked: %s", r.Final)
	}
	for _, key := range []string{"halted-revision", "halt-id"} {
		if value, ok := r.Final.Set.Annotations["etcdroll.dev/"+key]; ok && value != "" {
			t.Errorf("annotation %s is left: %q", key, value)
		}
	}
}

// rolling waits until the controller has made a new revision of the change that
// was just applied, so that neither the old convergence nor the revision of an
// earlier change is taken for the new one.
func (s *stage) rolling() error {
	return s.observer.Until(s.ctx, formsWithin, "the change is not seen", func(v observer.View) bool {
		return v.Set.Observed >= s.set.Edited && v.Set.Update != v.Set.Annotations[events.AnnotationConvergedRevision]
	})
}

// logRoll shows figures of a roll; they are for people and assert nothing.
func (s *stage) logRoll(r observer.Report) {
	t := s.writer.Tally(r.From)
	s.Logf("%d steps in %s, %d moves, %d unplanned elections, longest write gap %s, %d failed writes",
		r.Steps, r.To.Sub(r.From).Round(100*time.Millisecond), r.Planned, r.Unplanned, t.Longest.Took.Round(time.Millisecond), t.Failed)
}
