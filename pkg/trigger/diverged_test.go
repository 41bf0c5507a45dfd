package trigger

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// convergedSet has three members, all on revision "a", locked and marked.
func convergedSet() (SetView, []PodView) {
	set := SetView{
		Namespace: "prod", Name: "etcd", UID: "set-1", Managed: true, Generation: 4, ObservedGeneration: 4,
		Replicas: 3, Partition: 3, CurrentRevision: "a", UpdateRevision: "a", ReadyReplicas: 3, AvailableReplicas: 3,
		Phase: events.PhaseConverged, ConvergedRevision: "a", Seq: 9,
	}
	return set, podsAt("a", "a", "a")
}

func podsAt(revisions ...string) (pods []PodView) {
	for i, revision := range revisions {
		pods = append(pods, PodView{
			UID: fmt.Sprintf("pod-%d-%s", i, revision), Index: int32(i), Revision: revision,
		})
	}
	return pods
}

func TestAssess(t *testing.T) {
	type world struct {
		set  SetView
		pods []PodView
	}
	newTemplate := func(w *world) { w.set.Generation, w.set.ObservedGeneration, w.set.UpdateRevision = 5, 5, "b" }
	halted := func(w *world) {
		newTemplate(w)
		w.set.Phase, w.set.HaltedRevision, w.set.HaltID = events.PhaseHalted, "b", "b-7"
	}
	paused := func(w *world) { newTemplate(w); w.set.Paused = true }
	for name, c := range map[string]struct {
		change func(*world)
		state  State
		pace   Pace
		reason string
	}{
		"I10 converged and locked":                   {func(*world) {}, Idle, Never, ""},
		"not managed":                                {func(w *world) { newTemplate(w); w.set.Managed = false }, Idle, Never, ""},
		"deleting":                                   {func(w *world) { newTemplate(w); w.set.Deleting = true }, Idle, Never, ""},
		"template changed":                           {newTemplate, Active, Heartbeat, BecausePodIsOutdated},
		"SS-13 status stale":                         {func(w *world) { w.set.Generation = 5 }, Active, Heartbeat, BecauseStatusIsStale},
		"SS-13 no revision yet":                      {func(w *world) { w.set.UpdateRevision = "" }, Active, Heartbeat, BecauseStatusIsStale},
		"SS-06 evicted pod came back old":            {func(w *world) { w.pods = podsAt("a", "a", "old") }, Active, Heartbeat, BecausePodIsOutdated},
		"pod without a revision label":               {func(w *world) { w.pods[1].Revision = "" }, Active, Heartbeat, BecausePodIsOutdated},
		"SS-23 terminating outdated pod":             {func(w *world) { w.pods[1].Revision, w.pods[1].Terminating = "old", true }, Active, Heartbeat, BecausePodIsOutdated},
		"SS-17 idle but open":                        {func(w *world) { w.set.Partition = 0 }, Active, Heartbeat, BecauseOpen},
		"SS-17 open by one":                          {func(w *world) { w.set.Partition = 2 }, Active, Heartbeat, BecauseOpen},
		"SS-19 over-cautious partition":              {func(w *world) { w.set.Partition = 5 }, Idle, Never, ""},
		"OnDelete has no lock":                       {func(w *world) { w.set.OnDelete, w.set.Partition = true, 0 }, Idle, Never, ""},
		"scaled to nothing":                          {func(w *world) { w.set.Replicas, w.set.Partition, w.pods = 0, 0, nil }, Idle, Never, ""},
		"pod beyond replicas":                        {func(w *world) { w.pods = podsAt("a", "a", "a", "old") }, Idle, Never, ""},
		"pod missing":                                {func(w *world) { w.pods = podsAt("a", "a") }, Idle, Never, ""},
		"greenfield":                                 {func(w *world) { w.set.ConvergedRevision, w.set.Phase = "", "" }, Active, Heartbeat, BecauseNotMarked},
		"finish not marked":                          {func(w *world) { w.set.ConvergedRevision = "old" }, Active, Heartbeat, BecauseNotMarked},
		"release token unmarked":                     {func(w *world) { w.set.Release = "r2"; w.set.Converged = "r1" }, Active, Heartbeat, BecauseReleaseNotMarked},
		"release token marked":                       {func(w *world) { w.set.Release = "r2"; w.set.Converged = "r2" }, Idle, Never, ""},
		"PU-07 marked, not handed back":              {func(w *world) { w.set.Claimed = true }, Active, Heartbeat, BecauseClaimed},
		"left-over token":                            {func(w *world) { w.set.Converged = "r2" }, Idle, Never, ""},
		"step in flight":                             {func(w *world) { w.set.StepInFlight = true }, Active, Heartbeat, BecauseStepInFlight},
		"broken record":                              {func(w *world) { w.set.RecordBroken = true }, Active, Heartbeat, BecauseRecordIsBroken},
		"blocked":                                    {func(w *world) { newTemplate(w); w.set.Phase = events.PhaseBlocked }, Blocked, Backoff, BecausePodIsOutdated},
		"blocked and open":                           {func(w *world) { newTemplate(w); w.set.Phase = events.PhaseBlocked; w.set.Partition = 2 }, Blocked, Heartbeat, BecauseOpen},
		"halted":                                     {halted, Halted, OnChange, BecausePodIsOutdated},
		"halted but open":                            {func(w *world) { halted(w); w.set.Partition = 2 }, Halted, Heartbeat, BecauseOpen},
		"halted, step in flight":                     {func(w *world) { halted(w); w.set.StepInFlight = true }, Halted, Heartbeat, BecauseStepInFlight},
		"halted, to be resumed":                      {func(w *world) { halted(w); w.set.Resume = "b-7" }, Active, Heartbeat, BecauseResumeWanted},
		"halted, another resumed":                    {func(w *world) { halted(w); w.set.Resume = "a-1" }, Halted, OnChange, BecausePodIsOutdated},
		"halted, new template":                       {func(w *world) { halted(w); w.set.UpdateRevision = "c" }, Active, Heartbeat, BecausePodIsOutdated},
		"halted, now all on target":                  {func(w *world) { halted(w); w.pods = podsAt("b", "b", "b") }, Halted, Backoff, BecauseNotMarked},
		"halted and paused":                          {func(w *world) { halted(w); w.set.Paused = true }, Halted, OnChange, BecausePodIsOutdated},
		"old halt, converged since":                  {func(w *world) { w.set.HaltedRevision = "old" }, Idle, Never, ""},
		"paused":                                     {paused, Paused, OnChange, BecausePodIsOutdated},
		"paused but open":                            {func(w *world) { paused(w); w.set.Partition = 1 }, Paused, Heartbeat, BecauseOpen},
		"paused, nothing to do":                      {func(w *world) { w.set.Paused = true }, Idle, Never, ""},
		"SS-11 first ordinal is not 0":               {func(w *world) { w.set.OrdinalsStart = 2 }, Idle, Never, ""},
		"SS-36 counters missing":                     {func(w *world) { w.set.ReadyReplicas, w.set.AvailableReplicas = 0, 0 }, Idle, Never, ""},
		"SS-31 judged by label: currentRevision old": {func(w *world) { w.set.CurrentRevision = "old" }, Idle, Never, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var w world
			w.set, w.pods = convergedSet()
			c.change(&w)
			got := Assess(w.set, w.pods)
			if got.State != c.state || got.Pace != c.pace || got.Reason != c.reason {
				t.Errorf("got %s, pace %d, %q; want %s, pace %d, %q", got.State, got.Pace, got.Reason, c.state, c.pace, c.reason)
			}
			if got.Ask != (got.Pace != Never) || (got.Ask && !got.Diverged) {
				t.Errorf("ask %t, pace %d, diverged %t do not agree", got.Ask, got.Pace, got.Diverged)
			}
		})
	}
}

func TestSS15_FingerprintDiffersAfterGoingBackToAnOlderTemplate(t *testing.T) {
	set, pods := convergedSet()
	before := Fingerprint(set, pods)
	set.Generation, set.ObservedGeneration = 6, 6 // a to b to a: the revision's name is the old one
	if Fingerprint(set, pods) == before {
		t.Error("A to B to A looks as if nothing had happened")
	}
	set.UID = "set-2"
	second := Fingerprint(set, pods)
	set.UID = "set-3"
	if Fingerprint(set, pods) == second {
		t.Error("a set that was deleted and made anew looks the same")
	}
}

func TestFingerprintChangesWithEverythingThatTheWorldOrPeopleChange(t *testing.T) {
	set, pods := convergedSet()
	seen := map[string]string{Fingerprint(set, pods): "nothing"}
	for name, change := range map[string]func(*SetView, []PodView){
		"uid":                func(s *SetView, _ []PodView) { s.UID = "x" },
		"deleting":           func(s *SetView, _ []PodView) { s.Deleting = true },
		"generation":         func(s *SetView, _ []PodView) { s.Generation = 99 },
		"observed":           func(s *SetView, _ []PodView) { s.ObservedGeneration = 99 },
		"replicas":           func(s *SetView, _ []PodView) { s.Replicas = 5 },
		"first ordinal":      func(s *SetView, _ []PodView) { s.OrdinalsStart = 1 },
		"partition":          func(s *SetView, _ []PodView) { s.Partition = 1 },
		"strategy":           func(s *SetView, _ []PodView) { s.OnDelete = true },
		"pod management":     func(s *SetView, _ []PodView) { s.Parallel = true },
		"current revision":   func(s *SetView, _ []PodView) { s.CurrentRevision = "x" },
		"update revision":    func(s *SetView, _ []PodView) { s.UpdateRevision = "x" },
		"ready pods":         func(s *SetView, _ []PodView) { s.ReadyReplicas = 2 },
		"available pods":     func(s *SetView, _ []PodView) { s.AvailableReplicas = 2 },
		"paused":             func(s *SetView, _ []PodView) { s.Paused = true },
		"configuration":      func(s *SetView, _ []PodView) { s.Config = "x" },
		"release":            func(s *SetView, _ []PodView) { s.Release = "x" },
		"resume":             func(s *SetView, _ []PodView) { s.Resume = "x" },
		"override":           func(s *SetView, _ []PodView) { s.Override = "x" },
		"approval":           func(s *SetView, _ []PodView) { s.Approved = "x" },
		"wave":               func(s *SetView, _ []PodView) { s.Wave = 1 },
		"priority":           func(s *SetView, _ []PodView) { s.Priority = 1 },
		"pod replaced":       func(_ *SetView, p []PodView) { p[0].UID = "x" },
		"pod's revision":     func(_ *SetView, p []PodView) { p[0].Revision = "x" },
		"pod is terminating": func(_ *SetView, p []PodView) { p[0].Terminating = true },
		"pod's index":        func(_ *SetView, p []PodView) { p[0].Index = 7 },
	} {
		changed, moved := set, podsAt("a", "a", "a")
		change(&changed, moved)
		got := Fingerprint(changed, moved)
		if other, same := seen[got]; same {
			t.Errorf("a change of %s looks like a change of %s", name, other)
		}
		seen[got] = name
	}
}

func TestFingerprintLeavesOutWhatTheFunctionWrites(t *testing.T) {
	set, pods := convergedSet()
	before := Fingerprint(set, pods)
	set.Phase, set.ConvergedRevision, set.Converged, set.HaltedRevision, set.HaltID = "x", "x", "x", "x", "x"
	set.Seq, set.StepInFlight = 99, true
	if Fingerprint(set, pods) != before {
		t.Error("the function's own marks would call the function")
	}
}

var (
	anyRevision = rapid.SampledFrom([]string{"", "a", "b", "old"})
	anyPod      = rapid.Custom(func(t *rapid.T) PodView {
		return PodView{
			Index: rapid.Int32Range(-1, 12).Draw(t, "index"), UID: rapid.StringMatching("[a-d]").Draw(t, "uid"),
			Revision: anyRevision.Draw(t, "revision"), Terminating: rapid.Bool().Draw(t, "terminating"),
		}
	})
	anySet = rapid.Custom(func(t *rapid.T) SetView {
		return SetView{
			Namespace: "prod", Name: "etcd", UID: "u", Managed: true,
			Generation: rapid.Int64Range(1, 2).Draw(t, "generation"), ObservedGeneration: rapid.Int64Range(1, 2).Draw(t, "observed"),
			Replicas: rapid.Int32Range(0, 9).Draw(t, "replicas"), Partition: rapid.Int32Range(0, 9).Draw(t, "partition"),
			OnDelete: rapid.Bool().Draw(t, "ondelete"), CurrentRevision: anyRevision.Draw(t, "current"),
			UpdateRevision: anyRevision.Draw(t, "update"), Paused: rapid.Bool().Draw(t, "paused"),
			Release: anyRevision.Draw(t, "release"), Converged: anyRevision.Draw(t, "token"),
			ConvergedRevision: anyRevision.Draw(t, "converged"), HaltedRevision: anyRevision.Draw(t, "halted"),
			HaltID: anyRevision.Draw(t, "haltid"), Resume: anyRevision.Draw(t, "resume"),
			Phase:        rapid.SampledFrom([]string{"", "Converged", "Rolling", "Blocked", "Halted", "Paused", "?"}).Draw(t, "phase"),
			StepInFlight: rapid.Bool().Draw(t, "step"), RecordBroken: rapid.Bool().Draw(t, "broken"),
		}
	})
)

func TestPropertyOpenOrUnfinishedSetsAreAskedAboutWhateverElseTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, pods := anySet.Draw(t, "set"), rapid.SliceOfN(anyPod, 0, 9).Draw(t, "pods")
		a := Assess(set, pods)
		if (a.Open || set.StepInFlight) && a.Pace != Heartbeat {
			t.Fatalf("pace %d, state %s", a.Pace, a.State)
		}
		if a.Open && set.OnDelete {
			t.Fatal("an OnDelete set has no lock to be open")
		}
	})
}

func TestPropertyAnIdleSetIsConvergedLockedAndCurrent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, pods := anySet.Draw(t, "set"), rapid.SliceOfN(anyPod, 0, 9).Draw(t, "pods")
		a := Assess(set, pods)
		if a.Ask {
			return
		}
		if a.Outdated > 0 || a.Open || set.Generation != set.ObservedGeneration || set.UpdateRevision == "" ||
			set.ConvergedRevision != set.UpdateRevision || set.StepInFlight {
			t.Fatalf("nobody asks about %+v with %d outdated pods", set, a.Outdated)
		}
	})
}

func TestPropertyTheOrderOfThePodsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := anySet.Draw(t, "set")
		pods := rapid.SliceOfNDistinct(anyPod, 0, 9, func(p PodView) int32 { return p.Index }).Draw(t, "pods")
		shuffled := rapid.Permutation(pods).Draw(t, "shuffled")
		if Assess(set, pods) != Assess(set, shuffled) {
			t.Fatal("two orders, two judgements")
		}
	})
}

func TestSS12_OrdinalsAreNumbersAtTheEndOfTheName(t *testing.T) {
	for _, c := range []struct {
		set, pod string
		want     int32
		ok       bool
	}{
		{"x", "x-9", 9, true},
		{"x", "x-10", 10, true},
		{"etcd-2", "etcd-2-10", 10, true},
		{"etcd", "etcd-2-10", 0, false},
		{"etcd", "etcd-", 0, false},
		{"etcd", "etcd-01", 0, false},
		{"etcd", "etcd--1", 0, false},
		{"etcd", "etcd-+1", 0, false},
		{"etcd", "etcd-9999999999", 0, false},
		{"etcd", "other-1", 0, false},
	} {
		if got, ok := ordinalOf(c.set, c.pod); got != c.want || ok != c.ok {
			t.Errorf("ordinalOf(%q, %q) = %d, %t", c.set, c.pod, got, ok)
		}
	}
	nine, ten := []PodView{{Index: 9, UID: "n"}, {Index: 10, UID: "t"}}, []PodView{{Index: 10, UID: "t"}, {Index: 9, UID: "n"}}
	if Fingerprint(SetView{}, nine) != Fingerprint(SetView{}, ten) {
		t.Error("the order of ordinals 9 and 10 changes the fingerprint")
	}
}
