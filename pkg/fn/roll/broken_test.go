package roll

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// SS-09: a broken pod is recovered by us under either policy.
func TestSS09_ABrokenPodIsRecoveredUnderEitherPolicy(t *testing.T) {
	for _, policy := range []guard.Management{guard.OrderedReady, guard.Parallel} {
		o := with(healthy(3, 0), down(2), func(o *Observed) {
			o.Set.Management, o.Pods[2].Revision, o.Pods[2].Trouble = policy, "etcd-broken", guard.CrashLoop
		})
		if d := Next(o); d.Step != StepRecover || d.Effect.Kind != DeletePod {
			t.Errorf("policy %d: %s", policy, Describe(d))
		}
	}
}

// Somebody has deleted the broken pod by hand. Nothing changes when its soak
// ends, so the halted set must be waited for until it can be marked.
func TestSS01_AHaltedSetThatWasMendedIsWaitedFor(t *testing.T) {
	o := with(healthy(3, 0), updated(0, 1, 2), func(o *Observed) {
		o.Set.CurrentRevision = newRev
		o.Status = Status{Phase: PhaseHalted, HaltedRevision: newRev, HaltID: "h", Reason: ReasonDeleteNeeded}
		o.Pods[2].ReadyChanged = noon.Add(-time.Second)
	})
	if d := Next(o); d.Outcome != Waiting || d.Write != nil || d.After <= 0 {
		t.Errorf("while it soaks: %s", Describe(d))
	}
	if d := Next(with(o, later(time.Minute))); d.Outcome != Converged || d.Write.Status.HaltID != "" {
		t.Errorf("after: %s", Describe(d))
	}
}

// A pod that crash-loops on the new revision halts the roll. The template is
// mended, forward or back: that clears the halt, and the pod is replaced.
func TestSS01_ABrokenPodIsReplacedOnceTheTemplateIsMended(t *testing.T) {
	o := healthy(3, 0)
	o = with(o, written(Next(o)), updated(2), down(2))
	o = with(o, written(Next(o)), later(301*time.Second), func(o *Observed) {
		o.Pods[2].Trouble, o.Pods[2].Detail = guard.CrashLoop, "exit code 2"
	})
	halt := Next(o)
	if halt.Outcome != Halted || halt.Reason != ReasonPodBroken || !strings.Contains(halt.Message, "etcd-2") || o.Set.Open() {
		t.Fatalf("while it is broken: %s, partition %d", Describe(halt), o.Set.Partition)
	}
	for _, mended := range []string{oldRev, "etcd-c"} {
		d := Next(with(o, written(halt), func(o *Observed) { o.Set.UpdateRevision = mended }))
		if d.Step != StepRecover || d.Effect.Kind != DeletePod || d.Effect.PodUID != "new-2" || d.Write.Partition != 2 {
			t.Errorf("mended as %s: %s", mended, Describe(d))
		}
	}
}

// A set of one has no quorum without its broken pod, so that we do not touch
// it. Whoever reads the message knows what to do, unless that would not help.
func TestSS01_ASetOfOneIsToldToDeleteItsBrokenPod(t *testing.T) {
	const command = "kubectl -n db delete pod etcd-0"
	broken := func(strategy guard.Strategy, runs, current string) Decision {
		return Next(with(healthy(1, 0), down(0), func(o *Observed) {
			o.Limits.AllowDowntime, o.Record.Cluster = true, 7
			o.Record.UID, o.Record.Target = "set-1", newRev
			o.Set.Strategy, o.Set.CurrentRevision = strategy, current
			o.Pods[0].Revision, o.Pods[0].Trouble = runs, guard.CrashLoop
		}))
	}
	for what, d := range map[string]Decision{
		"mended forwards":  broken(guard.RollingUpdate, "etcd-broken", oldRev),
		"reverted":         broken(guard.RollingUpdate, "etcd-broken", newRev),
		"OnDelete, mended": broken(guard.OnDelete, oldRev, oldRev),
	} {
		if d.Outcome != Blocked || d.Reason != ReasonNoQuorum || !strings.Contains(d.Message, command) {
			t.Errorf("%s: %s", what, Describe(d))
		}
	}
	if d := broken(guard.RollingUpdate, oldRev, oldRev); d.Outcome != Blocked || strings.Contains(d.Message, command) {
		t.Errorf("it would come back the same: %s", Describe(d))
	}
}

// No cursor: pod 4 was rolled, and is evicted while the set is locked. It comes
// back on the current revision, which is the old one.
func TestSS06_ARolledPodThatCameBackOldGoesAgain(t *testing.T) {
	o := healthy(5, 0)
	for i := 4; i > 2; i-- {
		d := Next(o)
		if d.Step != StepRelease || d.Victim != i {
			t.Fatalf("pod %d is next: %s", i, Describe(d))
		}
		o = with(o, written(d), updated(i))
		o = with(o, written(Next(o)))
	}
	o.Pods[4].Revision, o.Pods[4].UID = oldRev, "evicted-4"
	d := Next(o)
	if d.Step != StepRelease || d.Victim != 4 || d.Write.Partition != 4 || d.Write.Record.Attempts[4] != 2 {
		t.Errorf("pod 4 came back old: %s", Describe(d))
	}
}
