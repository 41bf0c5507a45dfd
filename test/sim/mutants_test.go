package sim

import (
	"slices"
	"testing"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// mutant is the product with one rule broken on purpose.
type mutant struct {
	name   string
	what   decide
	caught []string // the invariants of which one must catch it
	within int      // walks
}

// blindTo lets a mutant be judged by what comes of it alone, without the
// checks at the moment of the write.
func (d decide) blindTo(invariants ...string) decide {
	d.skip = map[string]bool{}
	for _, i := range invariants {
		d.skip[i] = true
	}
	return d
}

func mutate(change func(roll.Observed, *roll.Decision)) decide {
	return decide{next: func(o roll.Observed) roll.Decision {
		d := roll.Next(o)
		change(o, &d)
		return d
	}}
}

// rewrite makes a decision write, from the record as observed.
func rewrite(o roll.Observed, d *roll.Decision, change func(*roll.Write)) {
	r := o.Record
	if r.Step != nil {
		step := *r.Step
		r.Step = &step
	}
	r.UID, r.Target, r.Seq = o.Set.UID, o.Set.UpdateRevision, r.Seq+1
	d.Write = &roll.Write{Record: r, Status: o.Status}
	d.Effect, d.Outcome, d.Wants = roll.Effect{}, roll.Stepped, roll.Wants{}
	change(d.Write)
}

func lock(o roll.Observed) func(*roll.Write) {
	return func(w *roll.Write) {
		w.Partition, w.SetPartition = o.Set.Replicas, true
		if w.Record.Step != nil {
			w.Record.Step.Locked = true
		}
	}
}

func lockTooEarly(o roll.Observed, d *roll.Decision) {
	if d.Reason == roll.ReasonPodAway && d.Outcome == roll.Waiting && o.Set.Open() {
		rewrite(o, d, lock(o))
	}
}

func neverLock(o roll.Observed, d *roll.Decision) {
	if d.Write != nil && d.Write.SetPartition && d.Write.Partition >= o.Set.Replicas {
		d.Write.SetPartition = false
	}
}

func neverDisarm(o roll.Observed, d *roll.Decision) {
	if d.Reason == roll.ReasonDisarmed {
		d.Write, d.Outcome, d.Effect = nil, roll.Waiting, roll.Effect{}
	}
}

func releaseTwo(o roll.Observed, d *roll.Decision) {
	if d.Step == roll.StepRelease && d.Write.Partition > 0 {
		d.Write.Partition--
		d.Write.Record.Step.Partition--
	}
}

// convergeEarly believes the labels: every pod object is on target.
func convergeEarly(o roll.Observed, d *roll.Decision) {
	for i := range o.Set.Replicas {
		if p := o.Pod(i); !p.Exists || p.Revision != o.Set.UpdateRevision {
			return
		}
	}
	if o.Set.StatusCurrent() && d.Outcome != roll.Converged && d.Reason != roll.ReasonConverged && o.Status.ConvergedRevision != o.Set.UpdateRevision {
		rewrite(o, d, func(w *roll.Write) {
			w.Record.Done, w.Record.Step = true, nil
			w.Status = roll.Status{Phase: roll.PhaseConverged, ConvergedRevision: o.Set.UpdateRevision, ConvergedToken: o.Release}
		})
	}
}

// keepOpenToTheEnd leaves the set open for the last victim until the
// controller has promoted the revision.
func keepOpenToTheEnd(o roll.Observed, d *roll.Decision) {
	if d.Reason == roll.ReasonRelocked && o.Set.Management == guard.OrderedReady && o.Set.Partition == 0 && o.Set.CurrentRevision != o.Set.UpdateRevision {
		d.Write, d.Outcome, d.Step = nil, roll.Waiting, roll.NoStep
	}
}

// blind decides as if somebody else than the next victim led.
func blind(o roll.Observed) roll.Observed {
	victim := -1
	for i := range o.Set.Replicas {
		if p := o.Pod(i); p.Exists && p.Revision != o.Set.UpdateRevision {
			victim = i
		}
	}
	if !o.Probed || victim < 0 || o.Set.Replicas == 1 {
		return o
	}
	leader := memberID(0)
	if victim == 0 {
		leader = memberID(1)
	}
	o.Members = slices.Clone(o.Members)
	for i := range o.Members {
		o.Members[i].Leader = leader
	}
	return o
}

// hasty takes a member for caught up as soon as it answers.
func hasty(o roll.Observed) roll.Observed {
	if o.Commit > 0 {
		o.Commit = 1
	}
	o.Members = slices.Clone(o.Members)
	for i := range o.Members {
		if o.Members[i].Reached {
			o.Members[i].Read = guard.Yes
		}
	}
	return o
}

func seeing(change func(roll.Observed) roll.Observed) decide {
	return decide{next: func(o roll.Observed) roll.Decision { return roll.Next(change(o)) }, unasked: true}
}

// hesitant is a world of slow functions that delete pods, and quick humans.
func hesitant(p *profile) {
	p.calm, p.strategy, p.mayDelete = false, guard.OnDelete, true
	p.functions, p.replicas, p.limits.AllowDowntime, p.limits.RevisionsPerHour = 3, 5, false, 100
	p.rates = [faultKinds]float64{pauseFunction: 0.3, changeTemplate: 0.03}
}

// belated is a world in which the controller deletes a pod well before it
// writes the status, so that the resourceVersion does not tell, and in which
// functions read the pods before and ask the members after.
func belated(p *profile) {
	p.calm, p.begin, p.strategy, p.management, p.slowness = false, convergedSet, guard.RollingUpdate, guard.OrderedReady, 1
	p.functions, p.replicas, p.limits.AllowDowntime, p.limits.RevisionsPerHour = 3, 3, false, 100
	p.rates = [faultKinds]float64{pauseFunction: 0.3, stallController: 0.5, doubleEvent: 0.5, changeTemplate: 0.02}
}

var mutants = []mutant{
	{"locks while the released pod is away", mutate(lockTooEarly), []string{i3Lock}, 200},
	{"the same, judged by its end", mutate(lockTooEarly).blindTo(i3Lock), []string{i5}, 200},
	{"takes a release back without a last look at its pod", decide{next: roll.Next, unlooked: true, shape: belated}, []string{i3Lock}, 400},
	{"never locks again", mutate(neverLock), []string{i5}, 200},
	{"never takes a release back", mutate(neverDisarm), []string{i2Armed}, 1500},
	{"does not ask who leads", seeing(blind), []string{i2Write}, 100},
	{"does not wait for members to catch up", seeing(hasty), []string{i1Write}, 200},
	{"the same, judged by its end", seeing(hasty).blindTo(i1Write), []string{i1}, 400},
	{"writes without resourceVersion", decide{next: roll.Next, unfenced: true}, []string{i1, i3Write, i8, i10}, 400},
	{"the same, judged by its end", decide{next: roll.Next, unfenced: true}.blindTo(i3Write), []string{i1, i3, i5, i8, i10}, 1500},
	{"releases two at once", mutate(releaseTwo), []string{i3Write}, 100},
	{"the same, judged by its end", mutate(releaseTwo).blindTo(i1Write, i2Write, i2Armed, i3Write), []string{i1, i3}, 200},
	{"converges as soon as the labels say so", mutate(convergeEarly), []string{i8}, 100},
	{"makes its call however late", decide{next: roll.Next, untimed: true, shape: hesitant}, []string{i1}, 800},
	{"acts although its announcement lost", decide{next: roll.Next, unannounced: true}, []string{i9}, 1000},
}

// TestTheSimulationBites breaks each rule on purpose. A simulation that lets
// such a product pass would prove nothing.
func TestTheSimulationBites(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			seen, failures := fleet(1, m.within, m.what, 4)
			by := map[string]int{}
			for _, f := range failures {
				by[f.broken.invariant]++
			}
			if len(failures) == 0 || !slices.ContainsFunc(m.caught, func(i string) bool { return by[i] > 0 }) {
				t.Fatalf("caught by %v within %d walks, want one of %v", by, m.within, m.caught)
			}
			f := failures[0]
			t.Logf("caught in %d of %d walks, by %v; seed %d: %s: %s", len(failures), seen.walks, by, f.seed, f.broken.invariant, f.broken.text)
		})
	}
}

// TestTheSameWorldsAreSafe: those in which a mutant was caught, with the
// product as it is.
func TestTheSameWorldsAreSafe(t *testing.T) {
	for name, shape := range map[string]func(*profile){"hesitant": hesitant, "belated": belated} {
		what := theProduct()
		what.shape = shape
		_, failures := fleet(1, 800, what, 3)
		for _, f := range failures {
			t.Errorf("%s, seed %d broke %s: %s", name, f.seed, f.broken.invariant, f.broken.text)
		}
	}
}

// TestKeepingTheSetOpen is the evidence for locking at once after the last
// victim too, rather than when the revision has been promoted: without the
// admission fence more pods are replaced unguarded by a template that changes
// meanwhile, and with the fence nothing is gained.
func TestKeepingTheSetOpen(t *testing.T) {
	unguarded := func(what decide) (int, int) {
		what.shape = func(p *profile) {
			p.fenced, p.strategy, p.management, p.replicas = false, guard.RollingUpdate, guard.OrderedReady, 3
			p.calm, p.slowness = false, 3
			p.rates[changeTemplate], p.rates[foreignOpen] = 0.04, 0
		}
		seen, failures := fleet(1, 400, what, 400)
		return seen.counts[unfencedTemplate], len(failures)
	}
	locked, broken := unguarded(theProduct())
	open, brokenOpen := unguarded(mutate(keepOpenToTheEnd))
	t.Logf("pods replaced unguarded in 400 walks: %d when locked at once (%d walks broken), %d when kept open (%d broken)", locked, broken, open, brokenOpen)
	if open <= locked || broken > 0 {
		t.Errorf("locking at once is no better: %d and %d", locked, open)
	}
}
