package guard

import "slices"

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
	Note      string // worth saying although it passed
	Override  string // the reason given for ignoring it; "" when not overridden
}

// Closed says that the finding forbids the step.
func (f Finding) Closed() bool { return !f.Passed && f.Override == "" }

// Verdict is one finding per gate, in gate order.
type Verdict []Finding

// Open says that no gate objects. An empty verdict is not open.
func (v Verdict) Open() bool { return len(v) > 0 && len(v.Objections()) == 0 }

// Objections are the findings that forbid the step.
func (v Verdict) Objections() Verdict {
	return slices.DeleteFunc(slices.Clone(v), func(f Finding) bool { return !f.Closed() })
}

// Overridden are the findings that were ignored by name.
func (v Verdict) Overridden() Verdict {
	return slices.DeleteFunc(slices.Clone(v), func(f Finding) bool { return f.Passed || f.Override == "" })
}

// Only keeps the findings of the named gates.
func (v Verdict) Only(gates ...Gate) Verdict {
	return slices.DeleteFunc(slices.Clone(v), func(f Finding) bool { return !slices.Contains(gates, f.Gate) })
}

// Without drops the findings of the named gates.
func (v Verdict) Without(gates ...Gate) Verdict {
	return slices.DeleteFunc(slices.Clone(v), func(f Finding) bool { return slices.Contains(gates, f.Gate) })
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
}

// The list is the contract: every gate is here once, and all are evaluated.
var checks = []check{
	{StatusCurrent, Hard, statusCurrent},
	{ShapeSupported, Hard, shapeSupported},
	{OnePodInFlight, Hard, onePodInFlight},
	{Soaked, Soft, soaked},
	{MembersReachable, Hard, membersReachable},
	{LinearizableRead, Hard, linearizableRead},
	{MembershipMatches, Hard, membershipMatches},
	{LearnersAbsent, Hard, learnersAbsent},
	{LeaderAgreed, Hard, leaderAgreed},
	{TermStable, Soft, termStable},
	{CaughtUp, Hard, caughtUp},
	{RevisionsConsistent, Hard, revisionsConsistent},
	{QuorumAfter, Hard, quorumAfter},
	{AlarmsAbsent, Hard, alarmsAbsent},
	{VersionPath, Hard, versionPath},
	{Headroom, Soft, headroom},
	{DisruptionBudget, Soft, disruptionBudget},
	{TemplateLint, Soft, templateLint},
}

// HealthGates are those that say the cluster is well, whatever comes next.
var HealthGates = []Gate{OnePodInFlight, MembersReachable, LinearizableRead, MembershipMatches,
	LearnersAbsent, LeaderAgreed, CaughtUp, RevisionsConsistent, AlarmsAbsent}

// Gates lists every gate with its kind, for documentation and validation. The
// kind of AlarmsAbsent is soft for NOSPACE alone.
func Gates() map[Gate]Kind {
	kinds := map[Gate]Kind{}
	for _, c := range checks {
		kinds[c.gate] = c.kind
	}
	return kinds
}

// Judge evaluates every gate for the plan.
func Judge(s Snapshot, p Plan) Verdict {
	v := make(Verdict, 0, len(checks))
	for _, c := range checks {
		f := c.test(s, p)
		f.Gate = c.gate
		if f.Kind == Hard {
			f.Kind = c.kind
		}
		f.Override = override(s, f)
		v = append(v, f)
	}
	return v
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
