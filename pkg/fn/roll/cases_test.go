package roll

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// SS-08: a pod below others is on the target although it should not be. It is
// taken as updated, and the outdated ones around it are rolled as usual.
func TestSS08_APodThatLeakedThroughTheLockCountsAsUpdated(t *testing.T) {
	o := with(healthy(3, 1), updated(0))
	var victims []int
	for range 8 {
		d := Next(o)
		o = with(o, written(d))
		if d.Step == StepRelease {
			victims = append(victims, d.Victim)
			o = with(o, updated(d.Victim))
		}
		if d.Step == StepMove {
			o = with(o, lead(int(d.Effect.To-100), o.Members[0].Term+1), later(6*time.Second))
		}
	}
	if len(victims) != 2 || victims[0] != 2 || victims[1] != 1 {
		t.Errorf("victims %v, want 2 and 1, each once", victims)
	}
}

// rolledOne is a set that has just replaced its first pod, which is Ready.
func rolledOne() Observed {
	o := healthy(3, 0)
	o = with(o, written(Next(o)), updated(2))
	o = with(o, written(Next(o)))
	o.Pods[2].ReadyChanged, o.Pods[2].Started = noon, noon
	return o
}

func TestET29_AnOldMemberThatFailsDuringTheSoakHalts(t *testing.T) {
	o := with(rolledOne(), later(20*time.Second), func(o *Observed) { o.Members[1] = guard.Member{} })
	if d := Next(o); d.Outcome != Waiting {
		t.Errorf("within the health timeout: %s", Describe(d))
	}
	o = with(o, later(41*time.Second))
	first := Next(o)
	if first.Outcome != Waiting || first.Write == nil {
		t.Fatalf("one look is no verdict: %s", Describe(first))
	}
	o = with(o, written(first), later(11*time.Second))
	if d := Next(o); d.Outcome != Halted || d.Reason != ReasonNotHealthy || !strings.Contains(d.Message, "etcd-1") {
		t.Errorf("past it: %s", Describe(d))
	}
}

func TestOneLostAnswerPastTheDeadlineIsForgotten(t *testing.T) {
	lost := with(rolledOne(), later(61*time.Second), func(o *Observed) { o.Members[1] = guard.Member{} })
	o := with(lost, written(Next(lost)), later(time.Second))
	o.Members[1] = rolledOne().Members[1]
	if d := Next(o); d.Outcome == Halted || d.Outcome == Blocked {
		t.Errorf("the answer came after all: %s", Describe(d))
	}
}

// A drift of leadership raises the term, so TermStable sees it as well; but
// that is a soft gate, and what it says may be overridden.
func TestET21_ADriftTakesTheReleaseBackWhateverIsOverridden(t *testing.T) {
	o := healthy(3, 0)
	o.Overrides = []guard.Override{{Gate: guard.TermStable, Revision: newRev, Until: noon.Add(time.Hour), Reason: "a shaky network"}}
	o = with(o, written(Next(o)))
	if d := Next(with(o, lead(1, 6))); d.Step == StepLock {
		t.Fatalf("another follower came to lead: %s", Describe(d))
	}
	d := Next(with(o, lead(2, 6)))
	if d.Step != StepLock || d.Reason != ReasonDisarmed || d.Write.Partition != 3 || !strings.Contains(d.Message, "came to lead") {
		t.Errorf("the victim came to lead: %s", Describe(d))
	}
}

// Whatever rewrites the template does not stop at a halt, since each new one
// clears it. The record does not grow with that.
func TestSS30_TheRecordDoesNotGrowWithEveryTemplate(t *testing.T) {
	o := healthy(3, 0)
	most := o.Limits.RevisionsPerHour + 1
	for n := range 500 {
		o = with(o, later(time.Second), func(o *Observed) { o.Set.UpdateRevision = "etcd-" + strconv.Itoa(n) })
		o.Record = o.Record.begun(o)
		if got := len(o.Record.Recent); got != min(n+1, most) || o.Record.Recent[got-1].Target != o.Set.UpdateRevision {
			t.Fatalf("after %d templates %d are on record: %v", n+1, got, o.Record.Recent)
		}
		if flaps := Next(o).Reason == ReasonRevisionFlapping; flaps != (n+1 >= most) {
			t.Fatalf("template %d: %s", n+1, Describe(Next(o)))
		}
	}
}

func TestET13_AnAlarmInMidStepHalts(t *testing.T) {
	o := with(rolledOne(), later(61*time.Second), func(o *Observed) {
		o.Alarms = []guard.Alarm{{Member: 101, Kind: guard.AlarmNoSpace, Text: "NOSPACE"}}
	})
	if d := Next(o); d.Outcome != Halted || !strings.Contains(d.Message, "NOSPACE") {
		t.Errorf("got %s", Describe(d))
	}
}

func TestET14_ItGoesOnWhenTheAlarmIsGone(t *testing.T) {
	alarm := with(healthy(3, 0), func(o *Observed) { o.Alarms = []guard.Alarm{{Member: 101, Kind: guard.AlarmNoSpace, Text: "NOSPACE"}} })
	blocked := Next(alarm)
	if blocked.Outcome != Blocked || !strings.Contains(blocked.Message, "member 65") {
		t.Fatalf("got %s", Describe(blocked))
	}
	if d := Next(with(healthy(3, 0), written(blocked))); d.Step != StepRelease {
		t.Errorf("the alarm is gone: %s", Describe(d))
	}
}

func TestET38_TheClusterRestsAfterAMove(t *testing.T) {
	o := healthy(3, 2)
	o = with(o, written(Next(o)), later(time.Second), lead(0, 6))
	if d := Next(o); d.Outcome != Waiting || d.Reason != ReasonMoving || d.After > 4*time.Second+grain {
		t.Errorf("right after the move: %s in %s", Describe(d), d.After)
	}
	if d := Next(with(o, later(4*time.Second))); d.Step != StepRelease {
		t.Errorf("after the rest: %s", Describe(d))
	}
}

// ET-39: another tool moves the leader; a defragmenting member is silent.
func TestET39_MaintenanceIsPlannedAround(t *testing.T) {
	o := healthy(3, 0)
	o = with(o, written(Next(o)), updated(2))
	o = with(o, written(Next(o)))
	moved := with(o, lead(1, 6))
	d := Next(moved)
	if d.Write == nil || d.Write.Record.Unplanned != 1 || d.Disruption() != 0 {
		t.Fatalf("a foreign move: %s", Describe(d))
	}
	moved = with(moved, written(d), later(61*time.Second))
	if d := Next(moved); d.Step != StepMove || d.Effect.To != 102 {
		t.Errorf("the leader is the next victim now: %s", Describe(d))
	}
	silent := with(healthy(3, 0), func(o *Observed) {
		o.Members[1] = guard.Member{Problem: guard.TimedOut, Detail: "Status: deadline exceeded"}
	})
	if d := Next(silent); d.Outcome != Blocked || !strings.Contains(d.Message, "deadline exceeded") {
		t.Errorf("a silent member: %s", Describe(d))
	}
}

// KN-08: a resume that arrives before or after its halt was overtaken changes
// nothing; nothing but the id it names is looked at.
func TestKN08_EventsCarryNoState(t *testing.T) {
	o := healthy(3, 0)
	plain := Next(o)
	early := Next(with(o, func(o *Observed) { o.Ask = Ask{Kind: Resume, HaltID: "etcd-new-7"} }))
	if Describe(plain) != Describe(early) || early.Write.ClearResume {
		t.Errorf("a resume without a halt: %s", Describe(early))
	}
}

// KN-11, KN-12: a function died right after its write; another looks.
func TestKN11_KN12_EveryWriteLeavesAStateThatTheNextLookContinues(t *testing.T) {
	released := with(healthy(3, 0), written(Next(healthy(3, 0))))
	if d := Next(released); d.Disruption() != 0 {
		t.Errorf("after a release: %s", Describe(d))
	}
	moving := with(healthy(3, 2), written(Next(healthy(3, 2))))
	if d := Next(moving); d.Disruption() != 0 || d.Write != nil {
		t.Errorf("after the announcement of a move: %s", Describe(d))
	}
	again := Next(with(moving, later(9*time.Second)))
	if again.Effect.Kind != MoveLeader || again.Write.Record.Moves != 0 {
		t.Errorf("the call is repeated, the count is not: %s", Describe(again))
	}
}

// GO-01: a tool resets the partition in every window; see also SS-05.
func TestGO01_AResetInMidRollIsCountedNotFought(t *testing.T) {
	o := healthy(3, 0)
	o = with(o, written(Next(o)), later(time.Second), func(o *Observed) { o.Set.Partition = 3 })
	d := Next(o)
	if d.Step != StepRelease || d.Write.Record.Contention != 1 || d.Write.Record.Attempts[2] != 2 {
		t.Errorf("got %s, contention %d, attempts %v", Describe(d), d.Write.Record.Contention, d.Write.Record.Attempts)
	}
}

// PU-06: nobody but the watcher notices drift; the look it asks for locks.
func TestPU06_DriftIsLocked(t *testing.T) {
	d := Next(with(converged(3), func(o *Observed) { o.Set.Partition = 0 }))
	if d.Step != StepLock || d.Write.Partition != 3 {
		t.Errorf("got %s", Describe(d))
	}
}

func TestSS25_AnUnschedulablePodHaltsWithTheSchedulersWords(t *testing.T) {
	o := healthy(3, 0)
	o = with(o, written(Next(o)), updated(2), down(2))
	o = with(o, written(Next(o)), later(301*time.Second), func(o *Observed) {
		o.Pods[2].Trouble, o.Pods[2].Detail = guard.Unschedulable, "0/3 nodes are available: volume node affinity conflict"
	})
	d := Next(o)
	if d.Outcome != Halted || d.Reason != ReasonUnschedulable || !strings.Contains(d.Message, "volume node affinity") {
		t.Errorf("got %s", Describe(d))
	}
}
