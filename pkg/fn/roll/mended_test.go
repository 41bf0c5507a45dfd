package roll

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// A member is replaced by hand in mid-roll (etcdctl member remove/add after a
// lost disk). The baseline keeps the old id through resume and new templates.
func TestMemberReplacedByHandCanGoOn(t *testing.T) {
	replaced := func(o *Observed) {
		for j := range o.Members {
			for k := range o.Members[j].Peers {
				if o.Members[j].Peers[k].ID == 102 {
					o.Members[j].Peers[k].ID = 999
				}
			}
		}
		o.Members[2].ID = 999
	}
	o := healthy(3, 0)
	o = with(o, written(Next(o)), updated(2), down(2))
	o = with(o, written(Next(o)), later(301*time.Second))
	halt := Next(o)
	if halt.Outcome != Halted {
		t.Fatalf("setup: %s", Describe(halt))
	}
	mended := with(healthy(3, 0), updated(2), replaced, later(time.Hour))
	mended.Set.Generation, mended.Set.ObservedGeneration = 6, 6
	mended.Record, mended.Status = halt.Write.Record, halt.Write.Status
	mended.ResumeToken = halt.Write.Status.HaltID
	resume := Next(mended)
	if resume.Reason != ReasonResumed {
		t.Fatalf("setup: %s", Describe(resume))
	}
	after := with(mended, written(resume), later(24*time.Hour))
	if d := Next(after); d.Outcome == Blocked && strings.Contains(d.Message, "when the roll began") {
		t.Errorf("after a resume, a day later, all healthy: %s", Describe(d))
	}
	fresh := with(after, func(o *Observed) { o.Set.UpdateRevision = "etcd-c" })
	if d := Next(fresh); d.Outcome == Blocked && strings.Contains(d.Message, "when the roll began") {
		t.Errorf("a new template does not help either: %s", Describe(d))
	}
	finished := with(after, updated(0, 1), func(o *Observed) { o.Set.CurrentRevision = newRev })
	if d := Next(finished); d.Outcome != Converged {
		t.Errorf("all pods on target, healthy, promoted, locked: %s", Describe(d))
	}
}

// An open set of unsupported shape whose released pod stays away.
func TestSS10_UnsupportedShapeNeverStaysOpen(t *testing.T) {
	o := with(healthy(3, 0), updated(2))
	o = with(o, written(Next(o))) // releases 1
	if o.Set.Partition != 1 {
		t.Fatalf("setup: partition %d", o.Set.Partition)
	}
	away := with(o, later(time.Hour), func(o *Observed) {
		o.Set.MaxUnavailable = 2
		o.Set.UpdateRevision = "etcd-c" // pod 2 is outdated again, and releasable
		o.Pods[1], o.Members[1] = guard.Pod{}, guard.Member{}
	})
	if d := Next(away); d.Write == nil || !d.Write.SetPartition {
		t.Errorf("maxUnavailable 2, past every deadline, still open: %s", Describe(d))
	}
	ten := with(healthy(9, 0), func(o *Observed) { o.Set.Replicas, o.Set.StatusReplicas, o.Set.Partition = 10, 10, 0 })
	if d := Next(ten); d.Write == nil || !d.Write.SetPartition {
		t.Errorf("ten replicas, all Ready, open: %s", Describe(d))
	}
}

// The function reaches nobody (NetworkPolicy, wrong port). An outdated pod is
// merely not Ready; its etcd runs. The message must not say to delete it.
func TestNoAdviceToDeleteAPodThatMayBeAlive(t *testing.T) {
	o := with(healthy(3, 0), later(2*time.Minute), func(o *Observed) {
		for i := range o.Members {
			o.Members[i] = guard.Member{Problem: guard.TimedOut, Detail: "Status: deadline exceeded"}
		}
		o.Set.CurrentRevision = "etcd-older"
		o.Pods[2].Ready, o.Pods[2].ReadyChanged, o.Pods[2].Trouble = false, noon, guard.NoTrouble
	})
	if d := Next(o); strings.Contains(d.Message, "delete pod") {
		t.Errorf("advice on no evidence: %s", Describe(d))
	}
}

// All pods Ready, the function reaches no member.
func TestUnreachableForUsIsNotNoQuorum(t *testing.T) {
	o := with(healthy(3, 0), func(o *Observed) {
		for i := range o.Members {
			o.Members[i] = guard.Member{Problem: guard.TimedOut, Detail: "Status: deadline exceeded"}
		}
	})
	if d := Next(o); d.Reason == ReasonNoQuorum {
		t.Errorf("every pod is Ready: %s; remedy: %s", Describe(d), Explain(d.Reason).Remedy)
	}
}

// A node's clock is two minutes behind the API server's: a pod created five
// seconds ago has "soaked".
func TestCG09_SoakIsNotSkippedByAClockBehind(t *testing.T) {
	o := with(healthy(3, 0), updated(2), func(o *Observed) {
		o.Pods[2].Created = noon.Add(-5 * time.Second) // the API server's clock
		o.Pods[2].Started, o.Pods[2].ReadyChanged = noon.Add(-122*time.Second), noon.Add(-121*time.Second)
	})
	if f := guard.Ask(guard.Soaked, o.Snapshot, guard.NoVictim); f.Passed {
		t.Errorf("created 5 s ago: %s", f.Measured)
	}
}

// A deploy that changes nothing but the release token.
func TestReceiptOutlivesANewToken(t *testing.T) {
	o := healthy(3, 0)
	for range 40 {
		d := Next(o)
		o = with(o, written(d), later(40*time.Second))
		if d.Step == StepRelease {
			o = with(o, updated(d.Victim))
		}
		if d.Step == StepMove {
			o = with(o, lead(int(d.Effect.To-100), o.Members[0].Term+1))
		}
		allNew := true
		for i := range o.Pods {
			allNew = allNew && o.Pods[i].Revision == newRev
		}
		if allNew {
			o.Set.CurrentRevision = newRev
		}
	}
	if o.Record.Last == nil || len(o.Record.Last.Pods) == 0 {
		t.Fatalf("setup: %+v", o.Record.Last)
	}
	before := *o.Record.Last
	d := Next(with(o, later(30*24*time.Hour), func(o *Observed) { o.Release = "v43" }))
	if d.Outcome != Converged {
		t.Fatalf("setup: %s", Describe(d))
	}
	if after := d.Write.Record.Last; len(after.Pods) == 0 || !after.Finished.Equal(before.Finished) {
		t.Errorf("the receipt of the roll is overwritten: finished %s -> %s, pods %d -> %d, steps %d -> %d",
			before.Finished, after.Finished, len(before.Pods), len(after.Pods), before.Steps, after.Steps)
	}
}
