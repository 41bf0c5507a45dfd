package differential

import (
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// mutant is the model with one rule broken on purpose.
type mutant struct {
	name   string
	decide decision
}

// seeing is the model with something wrong about what it sees.
func seeing(change func(*statefulset.Input)) decision {
	return func(in *statefulset.Input) statefulset.Plan {
		other := *in
		change(&other)
		return statefulset.Decide(&other)
	}
}

// saying is the model with something wrong about what it says.
func saying(change func(*statefulset.Input, *statefulset.Plan)) decision {
	return func(in *statefulset.Input) statefulset.Plan {
		p := statefulset.Decide(in)
		change(in, &p)
		return p
	}
}

// eachPod changes how every pod that exists is seen.
func eachPod(change func(*statefulset.Input, *statefulset.Pod)) decision {
	return seeing(func(in *statefulset.Input) {
		for i := range in.Replicas {
			if in.Pods[i].Phase != statefulset.Missing {
				change(in, &in.Pods[i])
			}
		}
	})
}

// createsFrom has all missing pods created from one revision.
func createsFrom(choose func(*statefulset.Input) statefulset.Revision) decision {
	return saying(func(in *statefulset.Input, p *statefulset.Plan) {
		for i := range p.Creates {
			if r := choose(in); p.Creates[i] != statefulset.Unset && r != statefulset.Unset {
				p.Creates[i] = r
			}
		}
	})
}

// without drops deletions.
func without(drop func(*statefulset.Input, int) bool) decision {
	return saying(func(in *statefulset.Input, p *statefulset.Plan) {
		for i := range p.Deletes {
			if drop(in, i) {
				p.Deletes[i] = 0
			}
		}
	})
}

func outdatedCount(p *statefulset.Plan) int {
	n := 0
	for _, why := range p.Deletes {
		n += int(why & statefulset.IsOutdated / statefulset.IsOutdated)
	}
	return n
}

var mutants = []mutant{
	{"the partition is not looked at", seeing(func(in *statefulset.Input) { in.Partition = 0 })},
	{"the partition counts from one", seeing(func(in *statefulset.Input) { in.Partition++ })},
	{"pods are created from the update revision only", createsFrom(func(in *statefulset.Input) statefulset.Revision { return in.Template })},
	{"pods are created from the current revision only", createsFrom(func(in *statefulset.Input) statefulset.Revision { return in.Current })},
	{"minReadySeconds is not waited for", seeing(func(in *statefulset.Input) { in.MinReady = 0 })},
	{"minReadySeconds is a second longer", seeing(func(in *statefulset.Input) {
		if in.MinReady > 0 {
			in.MinReady += time.Second
		}
	})},
	{"terminating pods are like others", eachPod(func(_ *statefulset.Input, p *statefulset.Pod) { p.Terminating = false })},
	{"terminating pods are not ready", eachPod(func(_ *statefulset.Input, p *statefulset.Pod) { p.Ready = p.Ready && !p.Terminating })},
	{"pending pods are missing", eachPod(func(_ *statefulset.Input, p *statefulset.Pod) {
		if p.Phase == statefulset.Pending {
			*p = statefulset.Pod{}
		}
	})},
	{"finished pods are left alone", eachPod(func(_ *statefulset.Input, p *statefulset.Pod) {
		if p.Phase == statefulset.Finished {
			p.Phase = statefulset.Running
		}
	})},
	{"OnDelete is RollingUpdate", seeing(func(in *statefulset.Input) { in.OnDelete = false })},
	{"Parallel is OrderedReady", seeing(func(in *statefulset.Input) { in.Parallel = false })},
	{"OrderedReady is Parallel", seeing(func(in *statefulset.Input) { in.Parallel = true })},
	{"the feature gate is always on", seeing(func(in *statefulset.Input) { in.Budgeted = true })},
	{"the feature gate is always off", seeing(func(in *statefulset.Input) { in.Budgeted = false })},
	{"maxUnavailable is always 1", seeing(func(in *statefulset.Input) { in.MaxUnavailable = 1 })},
	{"maxUnavailable is one more", seeing(func(in *statefulset.Input) { in.MaxUnavailable++ })},
	{"a set that is being deleted is worked on", seeing(func(in *statefulset.Input) { in.Deleting = false })},
	{"a pod that is not ready is not replaced", without(func(in *statefulset.Input, i int) bool { return !in.Pods[i].Ready })},
	{"a pod that is ready is not replaced", without(func(in *statefulset.Input, i int) bool { return in.Pods[i].Ready })},
	{"the first pod is never replaced", without(func(_ *statefulset.Input, i int) bool { return i == 0 })},
	{"the update revision is never promoted", saying(func(in *statefulset.Input, p *statefulset.Plan) {
		if in.Current != statefulset.Unset {
			p.Status.CurrentRevision = in.Current
		}
	})},
	{"it is promoted only when the set is open", saying(func(in *statefulset.Input, p *statefulset.Plan) {
		if in.Current != statefulset.Unset && in.Partition >= in.Replicas {
			p.Status.CurrentRevision = in.Current
		}
	})},
	{"it is promoted only when all are available", saying(func(in *statefulset.Input, p *statefulset.Plan) {
		if in.Current != statefulset.Unset && p.Status.AvailableReplicas < in.Replicas {
			p.Status.CurrentRevision = in.Current
		}
	})},
	{"the status knows of pods just created", saying(func(_ *statefulset.Input, p *statefulset.Plan) {
		for _, r := range p.Creates {
			if r != statefulset.Unset {
				p.Status.Replicas++
			}
		}
	})},
	{"the status lags a generation", saying(func(_ *statefulset.Input, p *statefulset.Plan) { p.Status.ObservedGeneration-- })},
	{"currentReplicas does not sink with a deletion", saying(func(_ *statefulset.Input, p *statefulset.Plan) { p.Status.CurrentReplicas += outdatedCount(p) })},
	{"currentReplicas is not that of the promoted revision", saying(func(in *statefulset.Input, p *statefulset.Plan) {
		if in.Current != statefulset.Unset && p.Status.CurrentRevision != in.Current {
			p.Status.CurrentReplicas = 0
		}
	})},
	{"available is ready", saying(func(_ *statefulset.Input, p *statefulset.Plan) { p.Status.AvailableReplicas = p.Status.ReadyReplicas })},
	{"OrderedReady replaces one at a time", saying(func(in *statefulset.Input, p *statefulset.Plan) {
		for i := 0; i < in.Replicas && !in.Parallel && outdatedCount(p) > 1; i++ {
			p.Deletes[i] = 0
		}
	})},
}

// TestTheComparisonBites breaks each rule of the model on purpose: single syncs
// must tell. The last three are what was wrong with the model before it was
// compared.
func TestTheComparisonBites(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			states, difference := caught(t, m.decide)
			if difference == "" {
				t.Fatalf("not caught in %d states", states)
			}
			t.Logf("caught by state %d, at its simplest\n%s", states, difference)
		})
	}
}

// caught tries states with the gate on and then off until one tells.
func caught(t *testing.T, decide decision) (int, string) {
	const most = 1_500
	for k := range 2 * most {
		on := k < most
		if k == 0 || k == most {
			withGate(t, on)
		}
		if s := randomSingle(uint64(k), on); s.disagreement(decide) != "" {
			return k, s.shrunk(decide).disagreement(decide)
		}
	}
	return 2 * most, ""
}

// TestScriptsBite: they tell as well, for what takes more than one sync to show.
func TestScriptsBite(t *testing.T) {
	withGate(t, true)
	for _, m := range mutants[:5] {
		told := 0
		for told < 60 && randomScript(uint64(told), true).run(m.decide, nil) == "" {
			told++
		}
		if told == 60 {
			t.Errorf("%s: not caught by 60 scripts", m.name)
			continue
		}
		t.Logf("%s: caught by script %d", m.name, told)
	}
	s := randomScript(0, true)
	short := s.shrunk(mutants[0].decide)
	if len(short.steps) > 12 || short.run(mutants[0].decide, nil) == "" {
		t.Errorf("of %d steps %d are left; that is not the reason:\n%s", len(s.steps), len(short.steps), short.told(len(short.steps)-1))
	}
}
