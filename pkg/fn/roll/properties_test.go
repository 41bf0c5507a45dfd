package roll

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// anyObservation draws a healthy cluster in any stage of a roll and spoils it
// in up to three places: near health is where the deep rules are.
func anyObservation(t *rapid.T) Observed {
	n := rapid.IntRange(1, 5).Draw(t, "replicas")
	o := healthy(n, rapid.IntRange(0, n-1).Draw(t, "leader"))
	o.Limits.AllowDowntime = rapid.Bool().Draw(t, "allowDowntime")
	o.Set.Strategy = rapid.SampledFrom([]guard.Strategy{guard.RollingUpdate, guard.RollingUpdate, guard.OnDelete}).Draw(t, "strategy")
	o.Set.Management = rapid.SampledFrom([]guard.Management{guard.OrderedReady, guard.Parallel}).Draw(t, "management")
	o.Set.CurrentRevision = rapid.SampledFrom([]string{oldRev, newRev}).Draw(t, "current")
	for i := range n {
		if rapid.Bool().Draw(t, "updated") {
			updated(i)(&o)
		}
	}
	anyRecord(t, &o, n)
	for range rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3}).Draw(t, "faults") {
		i := rapid.IntRange(0, n-1).Draw(t, "at")
		rapid.SampledFrom(faults).Draw(t, "fault")(t, &o, i)
	}
	return o
}

// faults are what can be wrong with one place of an observation.
var faults = []func(*rapid.T, *Observed, int){
	func(_ *rapid.T, o *Observed, i int) { o.Pods[i].Terminating = true },
	func(_ *rapid.T, o *Observed, i int) { o.Pods[i] = guard.Pod{} },
	func(_ *rapid.T, o *Observed, i int) { o.Pods[i].Revision = "etcd-c" },
	func(_ *rapid.T, o *Observed, i int) { o.Pods[i].Ready, o.Pods[i].Trouble = false, guard.CrashLoop },
	func(_ *rapid.T, o *Observed, i int) { down(i)(o) },
	func(t *rapid.T, o *Observed, i int) {
		down(i)(o)
		o.Pods[i].ReadyChanged = noon.Add(-time.Duration(rapid.IntRange(0, 200).Draw(t, "downFor")) * time.Second)
	},
	func(t *rapid.T, o *Observed, i int) {
		o.Pods[i].ReadyChanged = noon.Add(-time.Duration(rapid.IntRange(0, 70).Draw(t, "upFor")) * time.Second)
	},
	func(_ *rapid.T, o *Observed, i int) { o.Members[i] = guard.Member{} },
	func(_ *rapid.T, o *Observed, i int) { o.Members[i].Last.Applied -= 3 },
	func(_ *rapid.T, o *Observed, i int) { o.Members[i].Read = guard.No },
	func(_ *rapid.T, o *Observed, i int) { o.Members[i].Term++ },
	func(_ *rapid.T, o *Observed, i int) { lead(i, 6)(o) },
	func(t *rapid.T, o *Observed, _ int) {
		o.Set.Partition = rapid.IntRange(0, o.Set.Replicas+1).Draw(t, "partition")
	},
	func(_ *rapid.T, o *Observed, _ int) { o.Set.ObservedGeneration-- },
	func(_ *rapid.T, o *Observed, _ int) { o.Set.UpdateRevision = "etcd-c" },
	func(_ *rapid.T, o *Observed, _ int) { o.MayDelete = guard.Unknown },
	func(_ *rapid.T, o *Observed, _ int) { o.Set.Strategy = guard.StrategyUnknown },
	func(_ *rapid.T, o *Observed, _ int) { o.Paused = true },
}

func anyRecord(t *rapid.T, o *Observed, n int) {
	if rapid.Bool().Draw(t, "noRecord") {
		return
	}
	o.Record = Record{UID: "set-1", Seq: 3, Target: rapid.SampledFrom([]string{newRev, oldRev}).Draw(t, "recTarget"), Term: 5}
	switch rapid.IntRange(0, 3).Draw(t, "recordState") {
	case 0:
		o.Record.Done = true
	case 1:
		o.Status = Status{Phase: PhaseHalted, HaltID: "h", HaltedRevision: newRev, Reason: ReasonNotReady}
	case 2:
		anyStep(t, o, n)
	}
}

func anyStep(t *rapid.T, o *Observed, n int) {
	i := rapid.IntRange(0, n-1).Draw(t, "stepIndex")
	step := &Step{
		Kind:      rapid.SampledFrom([]StepKind{StepRelease, StepRecover, StepDelete, StepMove, StepAdopt}).Draw(t, "kind"),
		Index:     i,
		PodUID:    rapid.SampledFrom([]string{o.Pods[i].UID, "gone"}).Draw(t, "uid"),
		Target:    newRev,
		Partition: i,
		Started:   noon.Add(-time.Duration(rapid.SampledFrom([]int{0, 5, 9, 30, 301}).Draw(t, "age")) * time.Second),
		From:      o.Members[0].Leader, To: guard.ID(100 + i), ToIndex: i,
	}
	if step.Kind == StepRelease || step.Kind == StepRecover {
		o.Set.Partition = i
	}
	if rapid.Bool().Draw(t, "locked") {
		o.Set.Partition, step.Locked = n, true
	}
	o.Record.Step = step
}

// The properties would be empty if no drawn state led to a step.
func TestThePropertiesReachEveryKindOfStep(t *testing.T) {
	seen := map[StepKind]int{}
	gen := rapid.Custom(anyObservation)
	for seed := range 4000 {
		seen[Next(gen.Example(seed)).Step]++
	}
	for _, kind := range []StepKind{StepRelease, StepRecover, StepDelete, StepMove, StepLock, StepNote} {
		if seen[kind] < 10 {
			t.Errorf("only %d states led to %q: %v", seen[kind], kind, seen)
		}
	}
}

// I2: no decision gives up the pod of a member that leads or might lead.
func TestI2_NoLeadingMemberIsGivenUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyObservation(t)
		d := Next(o)
		if d.Disruption() < 2 || o.Set.Replicas == 1 {
			return
		}
		victim := d.Victim
		if leader := o.LeaderIndex(); leader < 0 || leader == victim {
			t.Fatalf("victim %d, leader %d: %s", victim, leader, Describe(d))
		}
		for _, m := range o.Members {
			if m.Reached && m.Leader == o.Members[victim].ID && m.Leader != 0 {
				t.Fatalf("a member still names the victim as leader: %s", Describe(d))
			}
		}
	})
}

// I1 in the core: whenever a pod is given up, everything else is up.
func TestI1_EverythingElseIsUpWhenAPodIsGivenUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyObservation(t)
		d := Next(o)
		if d.Disruption() < 2 {
			return
		}
		for i := range o.Set.Replicas {
			if i == d.Victim {
				continue
			}
			if m := o.Members[i]; !o.Pods[i].Usable() || !m.Reached || m.Read != guard.Yes || m.Last.Applied < o.Commit {
				t.Fatalf("member %d is not up: %s", i, Describe(d))
			}
		}
		if o.Set.Open() && d.Effect.Kind != DeletePod {
			t.Fatalf("a second release on an open set: %s", Describe(d))
		}
	})
}

// I6: one reading made unknown or worse never yields a more disruptive step.
func TestI6_CautionIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyObservation(t)
		before := Next(o)
		worse := worsen(t, o)
		after := Next(worse)
		if after.Disruption() > before.Disruption() {
			t.Fatalf("worse reading, bolder step:\n%s (rule %q)\n%s (rule %q)", Describe(before), before.Rule, Describe(after), after.Rule)
		}
	})
}

// worsen takes one reading of the members or the API server away. It leaves
// alone what says which pod is the victim: another victim is another
// question, not a worse answer to the same one.
func worsen(t *rapid.T, o Observed) Observed {
	i := rapid.IntRange(0, o.Set.Replicas-1).Draw(t, "worse")
	o.Pods = append([]guard.Pod(nil), o.Pods...)
	o.Members = append([]guard.Member(nil), o.Members...)
	m := &o.Members[i]
	switch rapid.IntRange(0, 13).Draw(t, "how") {
	case 0:
		*m = guard.Member{}
	case 1:
		m.Read = guard.Unknown
	case 2:
		m.Peers = nil
	case 3:
		m.Leader = 0
	case 4:
		m.Last.Applied = 0
	case 5:
		m.Version = ""
	case 6:
		o.AlarmsRead = guard.Unknown
	case 7:
		o.Commit = 0
	case 8:
		o.Probed, o.Members, o.AlarmsRead, o.Commit = false, nil, guard.Unknown, 0
	case 9:
		o.Set.ObservedGeneration--
	case 10:
		o.MayDelete = guard.Unknown
	case 11:
		o.Template.Data = guard.StorageUnknown
	case 12:
		o.Limits = guard.Limits{}
	case 13:
		m.Term += 3
	}
	return o
}

// I7: the order of member lists and repeated evaluation change nothing.
func TestI7_TheSameStateGivesTheSameDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyObservation(t)
		first := Next(o)
		shuffled := o
		shuffled.Members = append([]guard.Member(nil), o.Members...)
		for i := range shuffled.Members {
			m := &shuffled.Members[i]
			if len(m.Peers) > 1 {
				m.Peers = rapid.Permutation(m.Peers).Draw(t, "peers")
			}
		}
		if second := Next(shuffled); !reflect.DeepEqual(first, second) {
			t.Fatalf("%s\n%s", Describe(first), Describe(second))
		}
	})
}

// minimalMoves is the naive oracle of I9: none if the leader's pod is not
// replaced, one if a pod on target can take over by the time it is the
// victim, else two (one away, and one back from the outdated pod that took
// over).
func minimalMoves(n, leader int, outdated []bool, onDelete bool) int {
	if n == 1 || !outdated[leader] {
		return 0
	}
	others := 0
	for i := range n {
		if i != leader && (!outdated[i] || onDelete || i > leader) {
			others++ // on target by the time the leader's pod is next
		}
	}
	if others > 0 {
		return 1
	}
	return 2
}

// Our own clock is believed in nothing but when to look again.
func TestTheHintOfTimeDecidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyObservation(t)
		without := Next(o)
		o.Into = time.Duration(rapid.IntRange(0, 999).Draw(t, "into")) * time.Millisecond
		with := Next(o)
		if with.After <= 0 != (without.After <= 0) || with.After > without.After {
			t.Fatalf("again after %v instead of %v", with.After, without.After)
		}
		with.After = without.After
		if !reflect.DeepEqual(with, without) {
			t.Fatalf("%s\nwithout it %s", Describe(with), Describe(without))
		}
	})
}

// I9, for every size, leader and partly rolled state.
func TestI9_MovesAreMinimal(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for leader := range n {
			for mask := range 1 << n {
				for _, strategy := range []guard.Strategy{guard.RollingUpdate, guard.OnDelete} {
					checkMoves(t, n, leader, mask, strategy)
				}
			}
		}
	}
}

func checkMoves(t *testing.T, n, leader, mask int, strategy guard.Strategy) {
	o := healthy(n, leader)
	o.Set.Strategy, o.Limits.AllowDowntime = strategy, true
	outdated := make([]bool, n)
	for i := range n {
		outdated[i] = mask&(1<<i) != 0
		if !outdated[i] {
			updated(i)(&o)
		}
	}
	moves, term := 0, uint64(5)
	for range 6 * n {
		d := Next(o)
		o = with(o, written(d))
		switch {
		case d.Effect.Kind == MoveLeader:
			moves++
			term++
			lead(int(d.Effect.To-100), term)(&o)
			later(6 * time.Second)(&o)
		case d.Step == StepRelease || d.Step == StepDelete:
			if !outdated[d.Victim] {
				t.Fatalf("n=%d leader=%d mask=%b: pod %d was on target", n, leader, mask, d.Victim)
			}
			outdated[d.Victim] = false
			updated(d.Victim)(&o)
			if o.Set.Strategy == guard.RollingUpdate {
				o = with(o, written(Next(o)))
			}
		default:
			if !slices.Contains(outdated, true) {
				goto rolled
			}
		}
	}
rolled:
	for i := range n {
		if outdated[i] {
			t.Fatalf("n=%d leader=%d mask=%b: pod %d was never rolled: %s", n, leader, mask, i, Describe(Next(o)))
		}
		outdated[i] = mask&(1<<i) != 0
	}
	if want := minimalMoves(n, leader, outdated, strategy == guard.OnDelete); moves != want {
		t.Fatalf("n=%d leader=%d mask=%b strategy=%d: %d moves, want %d", n, leader, mask, strategy, moves, want)
	}
}

// Next is total: the emptiest and the oddest observation get an answer that
// disrupts nothing.
func TestNextIsTotal(t *testing.T) {
	for _, o := range []Observed{{}, {Snapshot: guard.Snapshot{Set: guard.Set{UID: "x", Managed: true}}}, {Snapshot: guard.Snapshot{Set: guard.Set{UID: "x", Managed: true, Replicas: 3, Strategy: guard.RollingUpdate, Management: guard.OrderedReady, MaxUnavailable: 1, Generation: 1, ObservedGeneration: 1, UpdateRevision: "b"}}}} {
		if d := Next(o); d.Disruption() != 0 || d.Rule == "" {
			t.Errorf("%+v: %s", o.Set, Describe(d))
		}
	}
}
