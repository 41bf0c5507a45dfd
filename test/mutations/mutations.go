// Package mutations proves for the cases that matter most that their tests
// bite: it names the line of the product that makes each case come out right,
// takes that line away, and demands that the case's own test fails.
//
// Nothing is changed in the checkout: the compiler gets the altered file as an
// overlay. docs/mutations.md is generated from the list.
package mutations

// Mutation is one rule of the product taken away.
type Mutation struct {
	Case string // id of the case that rests on the rule
	Rule string // what is lost, as a sentence

	File    string // of the module, with slashes
	Find    string // occurs once in the file
	Replace string // compiles, and has the rule no more

	Package string // whose test has to notice
	Test    string // its name as the source spells it, a line of a table after a slash
}

const (
	decision = "./pkg/fn/roll"
	gates    = "./pkg/guard"
	function = "./pkg/fn"

	sentences = "TestNextSaysOneSentencePerState/"
	faults    = "TestEachFaultClosesItsGate/"
)

// All is every mutation, by case.
var All = []Mutation{
	{"SS-01", "A pod that is broken on an outdated revision is recovered although it is not Ready.",
		"pkg/fn/roll/next.go", "\t{\"an outdated pod is broken\", brokenPod},\n", "",
		decision, "TestSS01_ABrokenPodIsReplacedOnceTheTemplateIsMended"},
	{"SS-01", "A replaced pod that does not become Ready in time halts the roll.",
		"pkg/fn/roll/rules_wait.go", "\tif v.since(step.Started) < v.o.Limits.ReadyTimeout {\n\t\treturn v.wait(ReasonNotReady, step.Index, steady, name+", "\tif v.since(step.Started) >= 0 {\n\t\treturn v.wait(ReasonNotReady, step.Index, steady, name+",
		decision, "TestSS01_ABrokenPodIsReplacedOnceTheTemplateIsMended"},
	{"SS-01", "Without the right to delete pods the command is printed and nothing is tried.",
		"pkg/fn/roll/rules_step.go", "\tif v.o.MayDelete != guard.Yes {\n\t\treturn v.halt(", "\tif v.o.MayDelete != guard.Yes && index < 0 {\n\t\treturn v.halt(",
		function, "TestSS01_WithoutTheRightTheCommandIsPrinted"},

	{"SS-02", "Pods are judged whatever the policy; the controller's own order is not relied on.",
		"pkg/guard/gates_kubernetes.go", "if state := podState(s.Pod(i)); state != \"\" {", "if state := podState(s.Pod(i)); state != \"\" && s.Set.Management == Parallel {",
		gates, faults + "SS-02 a lower pod is not Ready"},
	{"SS-02", "The same under Parallel.",
		"pkg/guard/gates_kubernetes.go", "if state := podState(s.Pod(i)); state != \"\" {", "if state := podState(s.Pod(i)); state != \"\" && s.Set.Management == OrderedReady {",
		decision, sentences + "SS-02 no release while a lower pod is down, whatever the policy"},

	{"SS-04", "A release that nobody acted on within the arm window is taken back.",
		"pkg/fn/roll/rules_open.go", "case v.since(step.Started) >= v.o.Limits.ArmWindow:", "case false:",
		decision, sentences + "SS-04 a release not acted on for 10 s is taken back"},
	{"SS-04", "Every gate is asked again while a release stands.",
		"pkg/fn/roll/rules_open.go", "\tif !verdict.Open() {", "\tif false {",
		decision, sentences + "SS-04 a release is taken back when a lower pod fails"},

	{"SS-05", "Nothing is locked while the released pod is away.",
		"pkg/fn/roll/rules_open.go", "return v.releasedAway(*step), true", "return v.lock(ReasonRelocked, step.Index, \"\"), true",
		decision, sentences + "SS-05 no lock while the released pod is missing"},
	{"SS-05", "A release is not taken back over gates that its own pod closed by going.",
		"pkg/fn/act.go", "d.TakesBack() && a.wentMeanwhile(ctx, s, d.Victim)", "d.TakesBack() && s.set == nil",
		function, "TestSS05_AReleaseIsNotTakenBackFromAPodThatGoes"},
	{"SS-05", "The set is locked once the successor exists.",
		"pkg/fn/roll/rules_open.go", "case pod.Exists && !pod.Terminating && pod.UID != step.PodUID:", "case pod.Exists && pod.UID == \"\":",
		decision, sentences + "SS-05 a lock as soon as the new object exists, Pending or not"},
	{"SS-05", "Attempts are counted per pod and revision.",
		"pkg/fn/roll/rules_step.go", "\tr.Attempts[index]++\n", "",
		decision, "TestSS05_ContentionHaltsAndNamesTheOther"},
	{"SS-05", "A partition that somebody else raised is counted as contention.",
		"pkg/fn/roll/ledger.go", "\t\tr.Contention++\n", "",
		decision, "TestSS05_ContentionHaltsAndNamesTheOther"},

	{"SS-06", "The victim is found from live labels, never from what was done already.",
		"pkg/fn/roll/view.go", "\t\tif v.outdated(i) {\n", "\t\tif v.outdated(i) && v.rec.Pods[i].Began.IsZero() {\n",
		decision, "TestSS06_ARolledPodThatCameBackOldGoesAgain"},

	{"SS-07", "Nothing is marked before the controller has promoted the revision.",
		"pkg/fn/roll/rules_wait.go", "\tif !v.promoted() {", "\tif false {",
		decision, sentences + "SS-07 no mark before promotion"},

	{"SS-16", "A release made for another template is taken back.",
		"pkg/fn/roll/rules_open.go", "case step.Target != v.target(), v.o.Set.Generation != v.o.Record.Generation:", "case false:",
		decision, sentences + "SS-16 a release is taken back when the template changes"},
	{"SS-16", "Under Parallel a second released pod is locked at once.",
		"pkg/fn/roll/rules_open.go", "\tpod := v.o.Pod(step.Index)\n\tif v.o.Set.Management != guard.OrderedReady && v.releasedOutdated() > 0 {", "\tpod := v.o.Pod(step.Index)\n\tif false {",
		decision, sentences + "SS-16 under Parallel a second released pod is locked at once"},

	{"SS-23", "A terminating pod is away, whatever its conditions say.",
		"pkg/fn/roll/view.go", "return !p.Exists || p.Terminating", "return !p.Exists",
		decision, sentences + "SS-23 a terminating pod that is Ready counts as away"},
	{"SS-23", "A terminating pod is not usable.",
		"pkg/guard/snapshot.go", "return p.Exists && p.Owned && !p.Terminating && p.Ready", "return p.Exists && p.Owned && p.Ready",
		function, "TestSS23_TerminatingPodIsNotUsableThoughStillReady"},

	{"SS-27", "A budget without room closes its gate.",
		"pkg/guard/gates_kubernetes.go", "case p.Stuck || b.Allowed >= 1:", "case p.Stuck || b.Allowed >= 0:",
		gates, faults + "SS-27 a budget without room"},
	{"SS-27", "Nothing is released while another pod is being evicted.",
		"pkg/guard/gates_kubernetes.go", "\tcase p.Terminating:\n\t\treturn \"is terminating\"\n", "",
		decision, sentences + "SS-27 no release while another pod is being evicted"},
	{"SS-27", "The other pods are read once more right before the write.",
		"pkg/fn/act.go", "a.othersUp(ctx, s, d.Victim) && !a.leads(ctx, s, d.Victim)", "!a.leads(ctx, s, d.Victim)",
		function, "TestSS27_EvictionBetweenReadingAndWriteHoldsTheStep"},

	{"ET-01", "The leader itself is asked to hand over.",
		"pkg/fn/act.go", "s.members.MoveLeader(ctx, s.endpoints[e.Index], s.who, e.To)", "s.members.MoveLeader(ctx, s.endpoints[0], s.who, e.To)",
		function, "TestET01_MoveIsAnnouncedThenAskedOfTheLeaderItself"},

	{"ET-03", "The next try goes to the next candidate.",
		"pkg/fn/roll/candidate.go", "\t\t\tcmp.Compare(v.tries(a), v.tries(b)),\n", "",
		decision, "TestET03_TheNextCandidateIsTriedOnTheNextEvent"},
	{"ET-03", "Tries are limited.",
		"pkg/fn/roll/candidate.go", "if v.tries(to) >= v.o.Limits.MoveTries {", "if false {",
		decision, "TestET03_TheNextCandidateIsTriedOnTheNextEvent"},
	{"ET-03", "Who leads decides whether a move came about.",
		"pkg/fn/roll/ledger.go", "case id == step.To && term > r.Term:", "case term == r.Term:",
		decision, "TestET03_TheNextCandidateIsTriedOnTheNextEvent"},

	{"ET-07", "Quorum is counted from the member lists, not from the pods.",
		"pkg/guard/gates_members.go", "voters = max(voters, own)", "voters = max(voters, min(own, s.Set.Replicas))",
		gates, faults + "ET-07 a member that never started"},
	{"ET-07", "A member that never started is named as the reason.",
		"pkg/fn/roll/rules_step.go", "\tcase !started:\n", "\tcase false:\n",
		decision, sentences + "ET-07 a member that never started blocks"},

	{"ET-21", "The victim is asked last before the write.",
		"pkg/fn/act.go", "a.othersUp(ctx, s, d.Victim) && !a.leads(ctx, s, d.Victim)", "a.othersUp(ctx, s, d.Victim)",
		function, "TestET21_VictimIsAskedLastBeforeItsRelease"},
	{"ET-21", "A drift of leadership onto the victim takes its release back.",
		"pkg/fn/roll/rules_open.go", "\tif v.mustNotGo(step.Index) {", "\tif false {",
		decision, "TestET21_ADriftTakesTheReleaseBackWhateverIsOverridden"},

	{"KN-04", "Every write raises the sequence.",
		"pkg/fn/roll/next.go", "r.UID, r.Seq = v.o.Set.UID, v.o.Record.Seq+1", "r.UID, r.Seq = v.o.Set.UID, v.o.Record.Seq",
		decision, "TestKN04_EveryWriteRaisesTheSequence"},
	{"KN-04", "An event of an overtaken chain takes no step.",
		"pkg/fn/roll/next.go", "if v.o.Ask.Kind != Continue || v.o.Ask.Seq == v.o.Record.Seq {", "if v.o.Ask.Kind != Continue || v.o.Ask.Seq >= 0 {",
		decision, sentences + "KN-04 an event of an older chain takes no step"},

	{"CG-02", "A write carries the resourceVersion that it was decided from.",
		"pkg/fn/patch.go", "\t\t\"resourceVersion\": set.ResourceVersion,\n", "",
		function, "TestCG02_WriteCarriesWhatItWasDecidedFrom"},
	{"CG-02", "A write that lost its race is decided anew.",
		"pkg/fn/handler.go", "case v.Outcome.Deed == Conflict && rounds < maxRounds:", "case v.Outcome.Deed == Conflict && rounds < 0:",
		function, "TestCG02_LostRaceIsObservedAnewAndQuiet"},
	{"CG-02", "A write is sent once; the client library does not repeat it.",
		"pkg/fn/apiserver/client.go", "MaxRetries(0).Body(patch.Body)", "MaxRetries(1).Body(patch.Body)",
		"./pkg/fn/apiserver", "TestCG02_ChangesAreSentOnceWhateverTheServerAdvises"},
}

// Cases are the ids that must be here: those whose failure would cost a
// cluster most.
var Cases = []string{"SS-01", "SS-02", "SS-04", "SS-05", "SS-06", "SS-07", "SS-16", "SS-23", "SS-27", "ET-01", "ET-03", "ET-07", "ET-21", "KN-04", "CG-02"}
