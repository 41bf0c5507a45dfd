package roll

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Each line is a sentence: in this state, this happens.
func TestNextSaysOneSentencePerState(t *testing.T) {
	released := func(i int, changes ...func(*Observed)) Observed {
		o := healthy(3, 0)
		for j := 2; j > i; j-- {
			updated(j)(&o)
		}
		o = with(o, written(Next(o)))
		return with(o, changes...)
	}
	cases := []struct {
		id, when  string
		o         Observed
		outcome   Outcome
		step      StepKind
		reason    Reason
		partition int // -1: untouched
	}{
		{"", "a set without our label is left alone", with(healthy(3, 0), func(o *Observed) { o.Set.Managed = false }), Done, NoStep, ReasonNotManaged, -1},
		{"", "a set that is gone is left alone", Observed{}, Done, NoStep, ReasonGone, -1},
		{"", "a deleted set is left alone", with(healthy(3, 0), func(o *Observed) { o.Set.Deleting = true }), Done, NoStep, ReasonGone, -1},
		{"SS-10", "maxUnavailable 2 is refused", with(healthy(3, 0), func(o *Observed) { o.Set.MaxUnavailable = 2 }), Blocked, StepNote, ReasonShapeUnsupported, -1},
		{"SS-10", "maxUnavailable 2 on an open set is locked", with(healthy(3, 0), func(o *Observed) { o.Set.MaxUnavailable, o.Set.Partition = 2, 1 }), Stepped, StepLock, ReasonShapeUnsupported, 3},
		{"SS-13", "stale status means waiting", with(healthy(3, 0), func(o *Observed) { o.Set.ObservedGeneration = 3 }), Waiting, NoStep, ReasonStatusStale, -1},
		{"", "the highest outdated follower is released", healthy(3, 0), Stepped, StepRelease, ReasonReleased, 2},
		{"", "a leading victim hands over first", healthy(3, 2), Stepped, StepMove, ReasonMoving, -1},
		{"", "the middle pod follows", with(healthy(3, 0), updated(2)), Stepped, StepRelease, ReasonReleased, 1},
		{"SS-06", "a rolled pod that came back old goes again", with(healthy(5, 0), updated(3)), Stepped, StepRelease, ReasonReleased, 4},
		{"SS-12", "index 9 goes before index 8", with(healthy(9, 0)), Stepped, StepRelease, ReasonReleased, 8},
		{"SS-17", "an idle set found open is locked", with(converged(3), func(o *Observed) { o.Set.Partition = 0 }), Stepped, StepLock, ReasonFoundOpen, 3},
		{"SS-19", "partition above replicas is locked", with(healthy(3, 0), func(o *Observed) { o.Set.Partition = 5 }), Stepped, StepRelease, ReasonReleased, 2},
		{"SS-17", "a new set that was created open is locked while its pods are being made", with(forming(time.Second), func(o *Observed) {
			o.Set.Partition, o.Pods[1], o.Pods[2] = 0, guard.Pod{}, guard.Pod{}
		}), Stepped, StepLock, ReasonFoundOpen, 3},
		{"SS-17", "one with a pod of another revision away is not: that pod would come back old", with(healthy(3, 0), func(o *Observed) {
			o.Set.Partition, o.Pods[2] = 2, guard.Pod{}
		}), Stepped, StepNote, ReasonFoundOpen, -1},
		{"", "a member that hangs behind a Ready pod is named", with(healthy(3, 0), func(o *Observed) { o.Members[1] = guard.Member{} }), Blocked, StepNote, ReasonMemberSilent, -1},
		{"SS-16", "a template change on an open set locks first", with(healthy(3, 0), func(o *Observed) { o.Set.Partition = 1 }), Stepped, StepLock, ReasonFoundOpen, 3},
		{"SS-04", "a release not yet acted on is waited for", released(2), Waiting, NoStep, ReasonReleased, -1},
		{"SS-04", "a release not acted on for 10 s is taken back", released(2, later(10*time.Second)), Stepped, StepLock, ReasonDisarmed, 3},
		{"SS-04", "a release is taken back when a lower pod fails", released(2, down(1)), Stepped, StepLock, ReasonDisarmed, 3},
		{"ET-21", "a release is taken back when the victim comes to lead", released(2, lead(2, 6)), Stepped, StepLock, ReasonDisarmed, 3},
		{"SS-16", "a release is taken back when the template changes", released(2, func(o *Observed) { o.Set.UpdateRevision = "etcd-c" }), Stepped, StepLock, ReasonDisarmed, 3},
		{"SS-05", "no lock while the released pod is missing", released(2, func(o *Observed) { o.Pods[2] = guard.Pod{}; o.Members[2] = guard.Member{} }), Waiting, NoStep, ReasonPodAway, -1},
		{"SS-23", "a terminating pod that is Ready counts as away", released(2, func(o *Observed) { o.Pods[2].Terminating = true }), Waiting, NoStep, ReasonPodAway, -1},
		{"SS-05", "a lock as soon as the new object exists, Pending or not", released(2, updated(2), down(2)), Stepped, StepLock, ReasonRelocked, 3},
		{"SS-24", "a pod stuck terminating is locked and halted", released(2, func(o *Observed) { o.Pods[2].Terminating = true }, later(301*time.Second)), Halted, StepLock, ReasonPodStuckTerminating, 3},
		{"SS-16", "under Parallel a second released pod is locked at once", released(1, func(o *Observed) {
			o.Set.Management, o.Set.UpdateRevision = guard.Parallel, "etcd-c"
			o.Pods[1] = guard.Pod{}
		}), Stepped, StepLock, ReasonRelocked, 3},
		{"SS-02", "no release while a lower pod is down, whatever the policy", with(healthy(5, 1), func(o *Observed) {
			o.Set.Management, o.Pods[0].Ready, o.Pods[0].ReadyChanged = guard.Parallel, false, noon
		}), Blocked, StepNote, ReasonGatesClosed, -1},
		{"SS-03", "a low sick pod is not rolled through", with(healthy(3, 1), down(0), later(2*time.Minute)), Blocked, StepNote, ReasonSickMember, -1},
		{"SS-27", "no release while another pod is being evicted", with(healthy(5, 1), func(o *Observed) { o.Pods[0].Terminating = true }), Blocked, StepNote, ReasonGatesClosed, -1},
		{"SS-28", "a budget without room closes the gate", with(healthy(3, 0), func(o *Observed) { o.Budget = guard.Budget{Read: guard.Yes, Found: true, Name: "b"} }), Blocked, StepNote, ReasonGatesClosed, -1},
		{"ET-07", "a member that never started blocks", with(healthy(3, 0), func(o *Observed) {
			o.Members[1].Peers = append(o.Members[1].Peers, guard.Peer{ID: 9})
		}), Blocked, StepNote, ReasonMembershipPending, -1},
		{"ET-04", "two leaders block", with(healthy(3, 0), func(o *Observed) { o.Members[1].Leader, o.Members[1].Term = 101, 6 }), Blocked, StepNote, ReasonSplitView, -1},
		{"ET-11", "without quorum nothing is touched", with(healthy(3, 0), down(0), down(1)), Blocked, StepNote, ReasonNoQuorum, -1},
		{"ET-16", "equal progress with unequal revisions blocks", with(healthy(3, 0), func(o *Observed) { o.Members[1].First.Revision, o.Members[1].Last.Revision = 899, 899 }), Blocked, StepNote, ReasonRevisionMismatch, -1},
		{"ET-13", "an alarm blocks before the first step", with(healthy(3, 0), func(o *Observed) { o.Alarms = []guard.Alarm{{Kind: guard.AlarmNoSpace, Text: "NOSPACE"}} }), Blocked, StepNote, ReasonGatesClosed, -1},
		{"SS-30", "a template that keeps changing halts", with(healthy(3, 0), func(o *Observed) {
			o.Record = Record{UID: "set-1", Target: "x", Seq: 4}
			for range 10 {
				o.Record.Recent = append(o.Record.Recent, Seen{"r", noon})
			}
		}), Halted, StepNote, ReasonRevisionFlapping, -1},
		{"", "a pause holds back the release", with(healthy(3, 0), func(o *Observed) { o.Paused = true }), Done, StepNote, ReasonPaused, -1},
		{"", "a pause does not hold back the lock", with(healthy(3, 0), func(o *Observed) { o.Paused, o.Set.Partition = true, 0 }), Stepped, StepLock, ReasonFoundOpen, 3},
		{"", "a broken configuration blocks", with(healthy(3, 0), func(o *Observed) { o.Config = &ConfigProblem{ReasonConfigInvalid, "no"} }), Blocked, StepNote, ReasonConfigInvalid, -1},
		{"SS-07", "no mark before promotion", with(healthy(3, 0), updated(0, 1, 2)), Waiting, NoStep, ReasonPromotion, -1},
		{"SS-07", "marked once promoted", with(healthy(3, 0), updated(0, 1, 2), func(o *Observed) { o.Set.CurrentRevision = newRev }), Converged, StepConverge, ReasonConverged, -1},
		{"SS-22", "no mark before the soak is over", with(healthy(3, 0), updated(0, 1, 2), func(o *Observed) {
			o.Set.CurrentRevision, o.Set.MinReady, o.Pods[0].ReadyChanged = newRev, time.Minute, noon.Add(-50*time.Second)
		}), Waiting, NoStep, ReasonSoaking, -1},
		{"", "a converged, marked set costs nothing", converged(3), Done, NoStep, ReasonConverged, -1},
		{"PU-07", "the claim on partition is handed back", with(converged(3), func(o *Observed) { o.ClaimsPartition = true }), Stepped, StepHandBack, ReasonHandedBack, -1},
		{"PU-03", "a new release token is echoed", with(converged(3), func(o *Observed) { o.Release = "v2" }), Converged, StepConverge, ReasonConverged, -1},
		{"SS-21", "a set that never formed says so", with(healthy(3, 0), down(0), down(1), down(2), func(o *Observed) {
			for i := range o.Pods {
				o.Pods[i].Trouble = guard.ImageTrouble
			}
		}), Blocked, StepNote, ReasonNeverBootstrapped, -1},
		{"SS-21", "a member that exits until its peers have names is the ordinary way of a set that forms", forming(guard.DefaultLimits().HealthTimeout - 1), Waiting, NoStep, ReasonForming, -1},
		{"SS-21", "one that goes on exiting is not", forming(guard.DefaultLimits().HealthTimeout), Blocked, StepNote, ReasonNeverBootstrapped, -1},
		{"", "OnDelete deletes the highest follower", with(healthy(3, 2), func(o *Observed) { o.Set.Strategy, o.Set.Partition = guard.OnDelete, 0 }), Stepped, StepDelete, ReasonReleased, -1},
		{"", "OnDelete moves the leader when only its pod is left", with(healthy(3, 2), updated(0, 1), func(o *Observed) { o.Set.Strategy, o.Set.Partition = guard.OnDelete, 0 }), Stepped, StepMove, ReasonMoving, -1},
		{"", "a single voter needs allowDowntime", healthy(1, 0), Blocked, StepNote, ReasonGatesClosed, -1},
		{"", "a single voter goes with allowDowntime", with(healthy(1, 0), func(o *Observed) { o.Limits.AllowDowntime = true }), Stepped, StepRelease, ReasonReleased, 0},
		{"KN-04", "an event of an older chain takes no step", with(healthy(3, 0), func(o *Observed) { o.Ask = Ask{Kind: Continue, Seq: 7} }), Done, NoStep, ReasonStaleEvent, -1},
		{"KN-15", "a resume for no halt passes all gates like any look", with(healthy(3, 0), down(1), func(o *Observed) { o.Ask = Ask{Kind: Resume, HaltID: "x"} }), Blocked, StepNote, ReasonGatesClosed, -1},
	}
	for _, c := range cases {
		t.Run(strings.TrimSpace(c.id+" "+c.when), func(t *testing.T) {
			d := Next(c.o)
			partition := -1
			if d.Write != nil && d.Write.SetPartition {
				partition = d.Write.Partition
			}
			if d.Outcome != c.outcome || d.Step != c.step || d.Reason != c.reason || partition != c.partition {
				t.Errorf("got %s step %q reason %s partition %d\nwant %s step %q reason %s partition %d\nrule %q: %s",
					d.Outcome, d.Step, d.Reason, partition, c.outcome, c.step, c.reason, c.partition, d.Rule, Describe(d))
			}
		})
	}
}

// A soak and the rest after a move end at the beginning of a second of the
// server's clock; that is when the next look comes, as far as ours can tell.
func TestTheNextLookComesWithTheSecond(t *testing.T) {
	soaking := with(healthy(3, 0), updated(0, 1, 2), func(o *Observed) {
		o.Set.CurrentRevision, o.Pods[0].ReadyChanged = newRev, noon.Add(-27*time.Second)
	})
	resting := with(healthy(3, 0), func(o *Observed) {
		o.Record = Record{UID: "set-1", Target: newRev, Seq: 4, Term: 5, MovedAt: noon.Add(-2 * time.Second)}
	})
	for _, o := range []Observed{soaking, resting} {
		for into, want := range map[time.Duration]time.Duration{
			0: 3050 * time.Millisecond, 700 * time.Millisecond: 2350 * time.Millisecond, 999 * time.Millisecond: 2051 * time.Millisecond} {
			o.Into = into
			if d := Next(o); d.Outcome != Waiting || d.After != want {
				t.Errorf("%v into the second: %s, again after %v, want %v", into, Describe(d), d.After, want)
			}
		}
	}
	last := with(soaking, func(o *Observed) { o.Pods[0].ReadyChanged, o.Into = noon.Add(-29*time.Second), 999*time.Millisecond })
	if d := Next(last); d.After != 51*time.Millisecond {
		t.Errorf("right before the second: again after %v", d.After)
	}
}

// Every decision that writes bumps seq by one, so that of two chains one dies.
func TestKN04_EveryWriteRaisesTheSequence(t *testing.T) {
	for _, o := range []Observed{healthy(3, 0), healthy(3, 2), with(healthy(3, 0), down(1)), with(converged(3), func(o *Observed) { o.Set.Partition = 0 })} {
		d := Next(o)
		if d.Write == nil || d.Write.Record.Seq != o.Record.Seq+1 {
			t.Errorf("%s: seq %+v after %d", Describe(d), d.Write, o.Record.Seq)
		}
	}
}

func TestBlockedWritesOnlyWhenTheAnswerChanges(t *testing.T) {
	o := with(healthy(3, 0), func(o *Observed) { o.Members[1].Last.Applied = 990 })
	first := Next(o)
	if first.Write == nil || !strings.Contains(first.Message, "CaughtUp: etcd-1 is 10 entries behind") {
		t.Fatalf("first look: %s", Describe(first))
	}
	o = with(o, written(first), func(o *Observed) { o.Members[1].Last.Applied = 995 })
	if again := Next(o); again.Write != nil || again.Outcome != Blocked {
		t.Errorf("another measured value was written: %s", Describe(again))
	}
	o.Alarms = []guard.Alarm{{Kind: guard.AlarmCorrupt, Text: "CORRUPT"}}
	if other := Next(o); other.Write == nil {
		t.Errorf("a new objection was not written: %s", Describe(other))
	}
}

func TestHaltIsClearedByItsIDOrByANewTemplate(t *testing.T) {
	o := healthy(3, 0)
	o = with(o, written(Next(o)), updated(2), down(2))
	o = with(o, written(Next(o)), later(301*time.Second))
	o.Pods[2].Trouble, o.Pods[2].Detail = guard.CrashLoop, "exit code 2"
	halt := Next(o)
	if halt.Outcome != Halted || halt.Reason != ReasonPodBroken || halt.Write.Status.HaltID == "" {
		t.Fatalf("SS-01: %s", Describe(halt))
	}
	o = with(o, written(halt))
	if d := Next(o); d.Outcome != Done || d.Write != nil {
		t.Errorf("SS-01: a halted set is busy: %s", Describe(d))
	}
	wrong := with(o, func(o *Observed) { o.Ask = Ask{Kind: Resume, HaltID: "other"} })
	if d := Next(wrong); d.Write != nil {
		t.Errorf("KN-15: another halt's id resumed: %s", Describe(d))
	}
	byEvent := with(o, func(o *Observed) { o.Ask = Ask{Kind: Resume, HaltID: halt.Write.Status.HaltID} })
	if d := Next(byEvent); d.Reason != ReasonResumed || d.Write.Status.HaltID != "" {
		t.Errorf("resume by event: %s", Describe(d))
	}
	byAnnotation := with(o, func(o *Observed) { o.ResumeToken = halt.Write.Status.HaltID })
	if d := Next(byAnnotation); d.Reason != ReasonResumed || !d.Write.ClearResume {
		t.Errorf("resume by annotation: %s", Describe(d))
	}
	// SS-01: reverted to the old template, the broken pod is released and deleted.
	reverted := with(o, func(o *Observed) { o.Set.UpdateRevision = oldRev; o.Pods[2].Trouble = guard.CrashLoop })
	d := Next(reverted)
	if d.Step != StepRecover || d.Effect.Kind != DeletePod || d.Effect.PodUID != "new-2" || d.Write.Partition != 2 {
		t.Errorf("SS-01: recovery: %s", Describe(d))
	}
	noRight := with(reverted, func(o *Observed) { o.MayDelete = guard.No })
	if d := Next(noRight); d.Outcome != Halted || !strings.Contains(d.Message, "kubectl -n db delete pod etcd-2") {
		t.Errorf("SS-01: without the right: %s", Describe(d))
	}
}

func TestSS05_ContentionHaltsAndNamesTheOther(t *testing.T) {
	o := with(healthy(3, 0), func(o *Observed) { o.OtherManagers = []string{"argocd-controller"} })
	for range 3 {
		d := Next(o)
		if d.Step != StepRelease {
			t.Fatalf("expected a release: %s", Describe(d))
		}
		o = with(o, written(d), later(time.Second), func(o *Observed) {
			o.Set.Partition = 3 // somebody resets it before the pod is created
			o.Pods[2].UID += "x"
		})
	}
	d := Next(o)
	if d.Outcome != Halted || d.Reason != ReasonPartitionContention || !strings.Contains(d.Message, "argocd-controller") {
		t.Errorf("got %s", Describe(d))
	}
}

// Whoever waits for the mark applies next: it never stands beside our claim.
func TestPU07_TheMarkHandsBackTheClaim(t *testing.T) {
	for _, claims := range []bool{true, false} {
		o := with(healthy(3, 0), updated(0, 1, 2), func(o *Observed) { o.Set.CurrentRevision, o.ClaimsPartition = newRev, claims })
		d := Next(o)
		if d.Step != StepConverge || d.Write.HandBack != claims || d.Write.SetPartition {
			t.Errorf("claims %t: %s with %+v", claims, Describe(d), d.Write)
		}
		if after := Next(with(o, written(d))); after.Outcome != Done || after.Write != nil {
			t.Errorf("claims %t, then: %s", claims, Describe(after))
		}
	}
}

func TestSS15_TheSameRevisionAgainIsANewRoll(t *testing.T) {
	o := converged(3)
	o.Pods[2].Revision = "etcd-b" // rolled to B and reverted before we looked
	d := Next(o)
	if d.Step != StepRelease || d.Write.Record.Done || d.Write.Status.ConvergedRevision != "" {
		t.Errorf("got %s with %+v", Describe(d), d.Write)
	}
}

func TestET03_TheNextCandidateIsTriedOnTheNextEvent(t *testing.T) {
	o := healthy(3, 2)
	var asked []guard.ID
	for range 7 {
		d := Next(o)
		if d.Effect.Kind != MoveLeader {
			if d.Outcome != Halted || d.Reason != ReasonMoveFailed {
				t.Fatalf("after %v: %s", asked, Describe(d))
			}
			break
		}
		asked = append(asked, d.Effect.To)
		o = with(o, written(d))
		if wait := Next(o); wait.Outcome != Waiting || wait.Write != nil {
			t.Fatalf("the call may be under way: %s", Describe(wait))
		}
		o = with(o, later(9*time.Second))
	}
	want := []guard.ID{100, 101, 100, 101, 100, 101}
	if len(asked) != len(want) {
		t.Fatalf("asked %v", asked)
	}
	for i := range want {
		if asked[i] != want[i] {
			t.Errorf("try %d went to %s, want %s", i, asked[i], want[i])
		}
	}
}

// All members name the new leader while none has applied an entry of its term.
func TestAMoveWhoseTermIsNotYetNoticedIsWaitedFor(t *testing.T) {
	o := healthy(3, 2)
	o = with(o, written(Next(o)), later(time.Second))
	term := o.AgreedTerm()
	early := with(o, lead(0, term))
	if d := Next(early); d.Outcome != Waiting || d.Write != nil {
		t.Errorf("before the term is noticed: %s", Describe(d))
	}
	d := Next(with(early, lead(0, term+1), later(5*time.Second)))
	if d.Step != StepRelease || d.Write.Record.Moves != 1 || d.Write.Record.Unplanned != 0 || len(d.Write.Record.MoveTries) != 0 {
		t.Errorf("after: %s, record %+v", Describe(d), d.Write)
	}
}

func TestTermLedgerTellsOurMovesFromElections(t *testing.T) {
	o := healthy(3, 2)
	o = with(o, written(Next(o)), later(time.Second), lead(0, 6))
	d := Next(with(o, later(5*time.Second)))
	if r := d.Write.Record; d.Step != StepRelease || r.Moves != 1 || r.Unplanned != 0 || r.Term != 6 {
		t.Errorf("ET-20: a planned move: %s, record %+v", Describe(d), r)
	}
	stolen := with(o, lead(1, 8), later(5*time.Second))
	d = Next(stolen)
	if d.Write == nil || d.Write.Record.Unplanned != 3 || !strings.Contains(d.Message, "TermStable") {
		t.Errorf("ET-20: unplanned elections: %s", Describe(d))
	}
	again := Next(with(stolen, written(d), later(30*time.Second)))
	if again.Write != nil {
		t.Errorf("an election was counted twice: %+v", again.Write.Record)
	}
	if d := Next(with(stolen, written(d), later(61*time.Second))); d.Step != StepRelease {
		t.Errorf("TermStable did not pass after a minute: %s", Describe(d))
	}
}

func TestET19_CatchingUpIsWaitedForWhileItGains(t *testing.T) {
	o := healthy(3, 0)
	o = with(o, written(Next(o)), updated(2))
	o = with(o, written(Next(o)), later(61*time.Second), func(o *Observed) {
		o.Pods[2].ReadyChanged, o.Pods[2].Started = noon, noon
		o.Members[2].Last.Applied = 200
	})
	note := Next(o)
	if note.Outcome != Waiting || note.Write == nil || note.Write.Record.Step.Progress != 200 {
		t.Fatalf("progress was not noted: %s", Describe(note))
	}
	gains := with(o, written(note), later(61*time.Second), func(o *Observed) { o.Members[2].Last.Applied = 600 })
	if d := Next(gains); d.Outcome != Waiting {
		t.Errorf("gaining ground: %s", Describe(d))
	}
	gains.Members[2].Last.Applied = 200
	if d := Next(gains); d.Outcome != Halted || d.Reason != ReasonNotHealthy {
		t.Errorf("standing still: %s", Describe(d))
	}
}

// Somebody opens a set that stands still: it is locked and stands still on.
func TestLockingEndsNoHaltAndUnmarksNothing(t *testing.T) {
	halt := Status{Phase: PhaseHalted, HaltID: "h", HaltedRevision: newRev, Reason: ReasonPodBroken}
	for name, o := range map[string]Observed{
		"halted":    with(healthy(3, 0), func(o *Observed) { o.Status = halt; o.Record = Record{UID: "set-1", Target: newRev, Seq: 2} }),
		"converged": converged(3),
	} {
		before := o.Status
		opened := with(o, func(o *Observed) { o.Set.Partition = 1 })
		d := Next(opened)
		if d.Step != StepLock || d.Write.Status != before {
			t.Errorf("SS-17: %s: %s, status %+v", name, Describe(d), d.Write.Status)
		}
		if after := Next(with(opened, written(d))); after.Disruption() != 0 || after.Step == StepResume {
			t.Errorf("%s: went on after the lock: %s", name, Describe(after))
		}
	}
}
