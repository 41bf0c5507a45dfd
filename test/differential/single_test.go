package differential

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// singles is how many states are tried with the feature gate on, and off.
const singles = 10_000

// real makes the sync in the real controller.
func (s single) real() outcome {
	r := newReal()
	set := newSet(&s.in)
	set.Status = newStatus(s.old)
	if s.forgotten {
		set.Status.CurrentRevision = "etcd-forgotten"
	}
	must(r.sets.Add(set))
	for i, p := range s.in.Pods {
		if pod := newPod(set, i, p, s.succeeded[i], epoch); pod != nil {
			must(r.pods.Add(pod))
		}
	}
	for revision, place := range s.history {
		if place > 0 {
			c := knownRevisions()[revision].DeepCopy()
			c.Revision = int64(place)
			must(r.revisions.Add(c))
		}
	}
	return r.outcomeOf(r.sync(epoch.Time))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// disagreement tells how the two sides differ about a state; empty if they
// agree.
func (s single) disagreement(model decision) string {
	real, modelled := s.real(), outcomeOfModel(model, s.in, s.old)
	if real == modelled {
		return ""
	}
	return fmt.Sprintf("%s  real:  %+v\n  model: %+v", s, real, modelled)
}

// withGate sets MaxUnavailableStatefulSet for the time of a test.
func withGate(t *testing.T, on bool) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.MaxUnavailableStatefulSet, on)
}

// TestSingleSyncs: from any state the model does what the controller does.
func TestSingleSyncs(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprintf("MaxUnavailableStatefulSet=%v", on), func(t *testing.T) {
			withGate(t, on)
			var met tallies
			onAllCores(singles, func(k int) bool {
				s := randomSingle(uint64(k), on)
				met.count(s)
				if s.disagreement(statefulset.Decide) == "" {
					return true
				}
				t.Errorf("seed %d: the model is wrong about\n%s", k, s.shrunk(statefulset.Decide).disagreement(statefulset.Decide))
				return false
			})
			met.report(t)
		})
	}
}

// onAllCores tries numbers until all are tried or one fails.
func onAllCores(count int, try func(int) bool) {
	var next atomic.Int64
	var failed atomic.Bool
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for !failed.Load() {
				k := int(next.Add(1) - 1)
				if k >= count {
					return
				}
				if !try(k) {
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
}

// tallies count what the model says happens in the states tried: a comparison
// of states in which nothing happens would prove nothing.
type tallies struct {
	bornOld, bornNew, finished, outdated, twice, pairs, promoted, written, unwritten atomic.Int64
}

func (n *tallies) count(s single) {
	in := s.in
	plan := statefulset.Decide(&in)
	taken := 0
	for i := range in.Replicas {
		why := plan.Deletes[i]
		add(&n.bornOld, plan.Creates[i] != statefulset.Unset && plan.Creates[i] != in.Template)
		add(&n.bornNew, plan.Creates[i] == in.Template)
		add(&n.finished, why == statefulset.IsFinished)
		add(&n.outdated, why == statefulset.IsOutdated)
		add(&n.twice, why == statefulset.IsFinished|statefulset.IsOutdated)
		taken += int(why & statefulset.IsOutdated / statefulset.IsOutdated)
	}
	add(&n.pairs, taken > 1)
	add(&n.promoted, in.Current != statefulset.Unset && plan.Status.CurrentRevision != in.Current)
	add(&n.written, plan.Status.Differs(s.old))
	add(&n.unwritten, !plan.Status.Differs(s.old))
}

func add(n *atomic.Int64, one bool) {
	if one {
		n.Add(1)
	}
}

// report tells the tallies; each must have come to a part of the tries.
func (n *tallies) report(t *testing.T) {
	t.Logf("%6d syncs with more than one, %d pods deleted twice in one sync", n.pairs.Load(), n.twice.Load())
	for _, c := range []struct {
		what  string
		times *atomic.Int64
		least int64
	}{
		{"pods created of an old revision", &n.bornOld, 150},
		{"pods created of the update revision", &n.bornNew, 500},
		{"finished pods deleted", &n.finished, 250},
		{"outdated pods deleted", &n.outdated, 400},
		{"revisions promoted", &n.promoted, 50},
		{"statuses written", &n.written, 1000},
		{"statuses left as they were", &n.unwritten, 1000},
	} {
		t.Logf("%6d %s", c.times.Load(), c.what)
		if c.times.Load() < c.least && !t.Failed() {
			t.Errorf("only %d %s; want %d", c.times.Load(), c.what, c.least)
		}
	}
}
