package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/scale/judge"
)

// A fleet has as many waves as waveCount; its members are slow to call
// elections, since many of them share few processors.
const waveCount = 2

// TestFleetRollsInWaves changes the template of -fleet=N real sets at once. No
// more than --max-rolling of them may be in a roll at any moment, and none of
// the second wave before the first has finished.
func TestFleetRollsInWaves(t *testing.T) {
	places := max(2, *fleetSize/5)
	first := emptyStage(t)
	groups := make([]*stage, *fleetSize)
	for i := range groups {
		groups[i] = &stage{T: t, ctx: first.ctx, namespace: first.namespace}
		groups[i].create(ofFleet(i))
		groups[i].formed()
	}
	place := first.install(false)
	function := first.part(place.Function())
	first.part(place.Trigger(function.URL, "--leader-elect=false", "--max-rolling="+strconv.Itoa(places)))
	for i, g := range groups {
		g.settled()
		g.leaderAt(i % 3)
	}
	watch, err := judge.Watch(t.Context(), shared.Client, first.namespace)
	first.must(err)
	defer watch.Close()
	began := time.Now()
	for _, g := range groups {
		g.must(g.set.Edit(g.ctx, etcdset.ToVersion("3.7.3")))
	}
	within := rollsWithin + time.Duration(*fleetSize)*time.Minute
	for i, g := range groups {
		g.must(g.observer.Until(g.ctx, within, "the roll has not ended", func(v observer.View) bool {
			return v.Set.Observed >= g.set.Edited && v.Settled()
		}))
		r := g.report()
		safe(t, r)
		converged(t, r)
		moves(t, r, []int{1, 1, 2}[i%3])
	}
	verdict := inTheEnd(t, watch)
	inWaves(t, verdict, places)
	t.Logf("%d sets in %s, %d at a time", *fleetSize, time.Since(began).Round(time.Second), verdict.Most)
}

// inTheEnd waits for the judge's own watch, which may see the last mark after
// the observer's has.
func inTheEnd(t *testing.T, watch *judge.Judge) judge.Verdict {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		v, err := watch.Verdict()
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Unfinished) == 0 || time.Now().After(end) {
			return v
		}
	}
}

// inWaves checks what an independent watch has seen.
func inWaves(t *testing.T, v judge.Verdict, places int) {
	t.Helper()
	if v.Rolled != *fleetSize || len(v.Unfinished) != 0 {
		t.Errorf("%d sets of %d rolled, not finished: %v", v.Rolled, *fleetSize, v.Unfinished)
	}
	if v.Most != places {
		t.Errorf("%d sets were in a roll at once, want %d: %v", v.Most, places, v.Which)
	}
	for later, began := range v.Began {
		for _, earlier := range slices.Sorted(maps.Keys(v.Ended)) {
			if waveOf(earlier) < waveOf(later) && v.Ended[earlier] > began {
				t.Errorf("%s began before %s, of an earlier wave, had finished", later, earlier)
			}
		}
	}
}

func ofFleet(i int) etcdset.Options {
	o := named(fmt.Sprintf("etcd-w%d-%02d", i%waveCount, i))
	o.Shape = func(set *appsv1.StatefulSet) {
		set.Annotations[events.AnnotationWave] = strconv.Itoa(i % waveCount)
		etcd := &set.Spec.Template.Spec.Containers[0]
		etcd.Args = append(etcd.Args, "--heartbeat-interval=300", "--election-timeout=3000")
	}
	return o
}

// waveOf reads the wave from a name that ofFleet has made.
func waveOf(name string) byte { return name[len("etcd-w")] }
