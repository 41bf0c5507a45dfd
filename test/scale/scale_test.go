package scale

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/scale/cost"
	"github.com/etcdroll/etcdroll/test/scale/fleet"
	"github.com/etcdroll/etcdroll/test/scale/function"
	"github.com/etcdroll/etcdroll/test/scale/judge"
	"github.com/etcdroll/etcdroll/test/scale/stage"
)

const (
	sets   = 200
	places = 5 // --max-rolling
	// memoryBar holds for the peak as well.
	memoryBar = 64 * cost.MiB
	// perSet is how many events an outage may cost a set that is not in a roll:
	// one because the trigger may have lost its lease meanwhile, and with it its
	// memory, and one because a timer of before may fall into the period.
	perSet = 2
	// period is how long after the API server's return is watched: all caches are
	// filled again, and every active set's heartbeat has passed three times.
	period     = 20 * time.Second
	rollWithin = 4 * time.Minute
)

var (
	keepLogs = flag.Bool("keep", false, "keep the scratch directory with all logs, also after success")
	shared   *cluster.Cluster
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(cluster.Run(m, os.Stderr, cluster.Options{}, *keepLogs, func(c *cluster.Cluster) { shared = c }))
}

// world is one fleet under a trigger.
type world struct {
	*testing.T
	place    *product.Place
	fleet    *fleet.Fleet
	function *function.Function
	trigger  *product.Part
}

func newWorld(t *testing.T, condition func(int) fleet.Condition) *world {
	t.Helper()
	w := &world{T: t}
	w.must(stage.Alone(t.Context(), shared))
	programs, err := product.Build(t.Context(), filepath.Join(shared.Dir, "bin"), "trigger")
	w.must(err)
	w.place, w.fleet, err = stage.Settle(t.Context(), shared, programs, "scale")
	w.must(err)
	w.must(w.fleet.Fill(t.Context(), sets, condition))
	w.function, err = function.Start(w.fleet)
	w.must(err)
	t.Cleanup(w.function.Stop)
	w.function.Hold(true)
	w.trigger, err = w.place.Trigger(w.function.URL, "--max-rolling=5", "--log-level=info")
	w.must(err)
	w.trigger.Revive()
	t.Cleanup(w.trigger.Stop)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// until polls, and fails with what is missing at the deadline.
func (w *world) until(within time.Duration, what string, ok func() bool) {
	w.Helper()
	for deadline := time.Now().Add(within); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("not within %s: %s", within, what)
		}
	}
}

// mix is half a fleet that wants to roll, and some of everything else.
func mix(i int) fleet.Condition {
	switch {
	case i < 100:
		return fleet.Outdated
	case i < 110:
		return fleet.Halted
	case i < 120:
		return fleet.Paused
	case i < 130:
		return fleet.Blocked
	}
	return fleet.Converged
}

// TestTwoHundredSets has five places for a fleet of which at first a part and
// then all wants to roll, and takes the API server away in between, at the worst
// moment: five sets are open and their pods are away.
func TestTwoHundredSets(t *testing.T) {
	w := newWorld(t, mix)
	w.until(30*time.Second, "five sets are open", func() bool { return w.function.Most() == places })
	w.outage()

	observer, err := judge.Watch(t.Context(), shared.Client, w.fleet.Namespace)
	w.must(err)
	defer observer.Close()
	w.function.Hold(false)
	w.allDiverge()
	w.converges(observer)
	w.memory()
	w.must(w.function.Err())
}

// outage restarts the API server and counts the events of each set.
func (w *world) outage() {
	from := time.Now()
	w.function.Forgive(true)
	w.must(stage.StopAPIServer(w.Context(), shared))
	w.must(stage.StartAPIServer(w.Context(), shared))
	back := time.Now()
	time.Sleep(period) // that nothing happens takes its time
	w.function.Forgive(false)
	inRoll := w.function.InHand()
	count := map[string]int{}
	for _, e := range w.function.Events() {
		if e.At.After(from) {
			count[e.Set]++
		}
	}
	quiet := 0
	for i := range sets {
		name := fleet.Name(i)
		most := perSet
		if inRoll[name] {
			// Its chain goes on as before, once a second.
			most += int(time.Since(from) / function.Away)
		}
		if count[name] > most {
			w.Errorf("%s: %d events in and after the outage, at most %d are due", name, count[name], most)
		}
		if !inRoll[name] {
			quiet += count[name]
		}
	}
	w.Logf("API server away for %s, trigger restarted %d times: %d events about %d sets that are not in a roll",
		back.Sub(from).Round(time.Millisecond), w.trigger.Deaths(), quiet, sets-len(inRoll))
}

// allDiverge gives every set that has none a reason to roll.
func (w *world) allDiverge() {
	w.must(fleet.Each(w.Context(), sets, 16, func(ctx context.Context, i int) error {
		switch mix(i) {
		case fleet.Converged:
			_, err := w.fleet.Change(ctx, fleet.Name(i), fleet.NewVersion)
			return err
		case fleet.Outdated:
			return nil
		default:
			return w.fleet.Lift(ctx, fleet.Name(i))
		}
	}))
}

func (w *world) converges(observer *judge.Judge) {
	began := time.Now()
	var v judge.Verdict
	w.until(rollWithin, "every set has converged", func() bool {
		var err error
		v, err = observer.Verdict()
		w.must(err)
		return len(v.Unfinished) == 0
	})
	if v.Most != places {
		w.Errorf("%d sets were in a roll at once, want %d: %v", v.Most, places, v.Which)
	}
	if most := w.function.Most(); most != places {
		w.Errorf("%d sets were in the function's hands at once, want %d", most, places)
	}
	if v.Rolled != sets {
		w.Errorf("%d of %d sets were seen in a roll", v.Rolled, sets)
	}
	w.Logf("%d sets converged in %s, %d at a time; %d events in all, %d changes judged",
		sets, time.Since(began).Round(time.Second), v.Most, len(w.function.Events()), v.Changes)
}

func (w *world) memory() {
	m, err := cost.MemoryOf(w.trigger.PID())
	w.must(err)
	if m.Peak >= memoryBar {
		w.Errorf("the trigger's memory reached %d MiB", m.Peak/cost.MiB)
	}
	w.Logf("trigger: %d MiB resident, %d MiB at most", m.Now/cost.MiB, m.Peak/cost.MiB)
}
