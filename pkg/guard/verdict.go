package guard

import (
	"fmt"
	"slices"
	"time"
)

// Gate names a gate. A gate's name is a sentence that is true when it passes.
type Gate string

// The gates, in the order in which they are evaluated and reported.
const (
	StatusCurrent       Gate = "StatusCurrent"
	ShapeSupported      Gate = "ShapeSupported"
	OnePodInFlight      Gate = "OnePodInFlight"
	Soaked              Gate = "Soaked"
	MembersReachable    Gate = "MembersReachable"
	LinearizableRead    Gate = "LinearizableRead"
	MembershipMatches   Gate = "MembershipMatches"
	LearnersAbsent      Gate = "LearnersAbsent"
	LeaderAgreed        Gate = "LeaderAgreed"
	TermStable          Gate = "TermStable"
	CaughtUp            Gate = "CaughtUp"
	RevisionsConsistent Gate = "RevisionsConsistent"
	QuorumAfter         Gate = "QuorumAfter"
	AlarmsAbsent        Gate = "AlarmsAbsent"
	VersionPath         Gate = "VersionPath"
	Headroom            Gate = "Headroom"
	DisruptionBudget    Gate = "DisruptionBudget"
	TemplateLint        Gate = "TemplateLint"
)

// Kind says whether a finding may be overridden.
type Kind uint8

// Hard findings cannot be overridden; soft ones can, by name.
const (
	Hard Kind = iota
	Soft
)

// Plan is the disruption under consideration.
type Plan struct {
	Victim int  // index of the pod to replace; -1 when only health is asked
	Stuck  bool // the victim is broken already, and exempt from being healthy

	// answering leaves members that do not answer aside. Only echoes asks so.
	answering bool
}

// NoVictim asks for health alone.
var NoVictim = Plan{Victim: -1}

// exempt says that pod i is not expected to be healthy.
func (p Plan) exempt(i int) bool { return p.Stuck && i == p.Victim }

// Finding is the result of one gate.
type Finding struct {
	Gate      Gate
	Kind      Kind
	Passed    bool
	Measured  string // what was read, in words with a unit
	Threshold string // what would pass
	Note      string // worth saying although it passed, or why an override of it does not count
	Override  string // the reason given for ignoring it; "" when not overridden
	// Echo: it objects only because of members of which MembersReachable says
	// already that they do not answer. It forbids the step all the same.
	Echo bool
}

// Closed says that the finding forbids the step.
func (f Finding) Closed() bool { return !f.Passed && f.Override == "" }

// Verdict is one finding per gate, in gate order.
type Verdict []Finding

// Open says that no gate objects. An empty verdict is not open.
func (v Verdict) Open() bool { return len(v) > 0 && !slices.ContainsFunc(v, Finding.Closed) }

// where keeps the findings that are wanted.
func (v Verdict) where(wanted func(Finding) bool) Verdict {
	var kept Verdict
	for _, f := range v {
		if wanted(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// Objections are the findings that forbid the step.
func (v Verdict) Objections() Verdict {
	return v.where(Finding.Closed)
}

// Overridden are the findings that were ignored by name.
func (v Verdict) Overridden() Verdict {
	return v.where(func(f Finding) bool { return !f.Passed && f.Override != "" })
}

// Notes are the findings with something to say besides their measure.
func (v Verdict) Notes() Verdict {
	return v.where(func(f Finding) bool { return f.Note != "" })
}

// Only keeps the findings of the named gates.
func (v Verdict) Only(gates ...Gate) Verdict {
	return v.where(func(f Finding) bool { return slices.Contains(gates, f.Gate) })
}

// Without drops the findings of the named gates.
func (v Verdict) Without(gates ...Gate) Verdict {
	return v.where(func(f Finding) bool { return !slices.Contains(gates, f.Gate) })
}

// Get is the finding of one gate; a gate that was not evaluated is closed.
func (v Verdict) Get(g Gate) Finding {
	for _, f := range v {
		if f.Gate == g {
			return f
		}
	}
	return Finding{Gate: g, Measured: "not evaluated"}
}

// check is one gate.
type check struct {
	gate Gate
	kind Kind
	test func(Snapshot, Plan) Finding
	// passes completes the sentence "passes when ..."; docs/gates.md shows it.
	passes string
}

// The list is the contract: every gate is here once, and all are evaluated.
var checks = []check{
	{StatusCurrent, Hard, statusCurrent, "the controller has observed the latest spec and the set is not being deleted"},
	{ShapeSupported, Hard, shapeSupported, "the set is RollingUpdate with maxUnavailable 1, or OnDelete, has 1 to 9 replicas and is not scaling"},
	{OnePodInFlight, Hard, onePodInFlight, "every pod is present, owned by the set, Ready and not terminating (a pod that is broken and is the victim is exempt)"},
	{Soaked, Soft, soaked, "every pod has been Ready, with the process it runs now, for the cool-down or minReadySeconds, whichever is longer"},
	{MembersReachable, Hard, membersReachable, "every member answers Status on a connection of its own"},
	{LinearizableRead, Hard, linearizableRead, "every voter answers a read that a quorum confirmed"},
	{MembershipMatches, Hard, membershipMatches, "every member lists exactly the pods as started voters, in one cluster, the same ones as when the roll began"},
	{LearnersAbsent, Hard, learnersAbsent, "no member is, or lists, a learner"},
	{LeaderAgreed, Hard, leaderAgreed, "all members name one leader and one term, and that leader agrees"},
	{TermStable, Soft, termStable, "no election that we did not ask for was noticed within the last minute"},
	{CaughtUp, Hard, caughtUp, "every member has applied what the leader had committed when we asked, within two seconds"},
	{RevisionsConsistent, Hard, revisionsConsistent, "members that have applied the same entries are at the same revision"},
	{QuorumAfter, Hard, quorumAfter, "a quorum of healthy voters is left without the victim; one or two voters need allowDowntime"},
	{AlarmsAbsent, Hard, alarmsAbsent, "no alarm is raised (NOSPACE can be overridden; CORRUPT and unknown alarms never)"},
	{VersionPath, Hard, versionPath, "etcd supports the way from what runs to the target version"},
	{Headroom, Soft, headroom, "no database is near its quota"},
	{DisruptionBudget, Soft, disruptionBudget, "the PodDisruptionBudgets that select the pods allow one disruption (passes with a note when they cannot be read)"},
	{TemplateLint, Soft, templateLint, "data is on a persistent volume, the grace period is long enough, preStop removes no member, and the target version knows every flag"},
}

// HealthGates are those that say the cluster is well, whatever comes next.
var HealthGates = []Gate{OnePodInFlight, MembersReachable, LinearizableRead, MembershipMatches,
	LearnersAbsent, LeaderAgreed, CaughtUp, RevisionsConsistent, AlarmsAbsent}

// About describes one gate.
type About struct {
	Gate   Gate
	Kind   Kind   // AlarmsAbsent is soft for NOSPACE alone
	Passes string // completes "passes when ..."
}

// Gates lists every gate in order, for documentation and validation.
func Gates() []About {
	list := make([]About, 0, len(checks))
	for _, c := range checks {
		list = append(list, About{c.gate, c.kind, c.passes})
	}
	return list
}

// Judge evaluates every gate for the plan.
func Judge(s Snapshot, p Plan) Verdict {
	v := make(Verdict, 0, len(checks))
	for _, c := range checks {
		v = append(v, c.find(s, p))
	}
	if !v.Get(MembersReachable).Passed {
		v.echoes(s, p)
	}
	return v
}

// echoes marks what would pass, were it not for members that do not answer.
func (v Verdict) echoes(s Snapshot, p Plan) {
	p.answering = true
	for i, c := range checks {
		v[i].Echo = !v[i].Passed && c.gate != MembersReachable && c.find(s, p).Passed
	}
}

// Ask evaluates one gate, for decisions that rest on that one alone.
func Ask(g Gate, s Snapshot, p Plan) Finding {
	for _, c := range checks {
		if c.gate == g {
			return c.find(s, p)
		}
	}
	return Verdict(nil).Get(g)
}

func (c check) find(s Snapshot, p Plan) Finding {
	f := c.test(s, p)
	f.Gate = c.gate
	if f.Kind == Hard {
		f.Kind = c.kind
	}
	f.Override = override(s, f)
	if f.Closed() && f.Kind == Soft {
		f.Note = idleOverride(s, f.Gate)
	}
	return f
}

// idleOverride says why an override that names the gate does not count.
func idleOverride(s Snapshot, g Gate) string {
	for _, o := range s.Overrides {
		switch {
		case o.Gate != g:
		case o.Revision != s.Set.UpdateRevision:
			return fmt.Sprintf("the override for it is for revision %q", o.Revision)
		case !s.Now.Before(o.Until):
			return "the override for it ended at " + o.Until.UTC().Format(time.RFC3339)
		}
	}
	return ""
}

// override is the reason for which a closed soft gate is ignored. A hard
// finding has none, and neither has an override for another revision, one
// past its expiry, or one without a reason.
func override(s Snapshot, f Finding) string {
	if f.Passed || f.Kind != Soft {
		return ""
	}
	for _, o := range s.Overrides {
		if o.Gate == f.Gate && o.Revision == s.Set.UpdateRevision && o.Revision != "" && s.Now.Before(o.Until) {
			return o.Reason
		}
	}
	return ""
}

func pass(measured, threshold string) Finding {
	return Finding{Passed: true, Measured: measured, Threshold: threshold}
}

func object(measured, threshold string) Finding {
	return Finding{Measured: measured, Threshold: threshold}
}
