// Package sabotage lists rules of the function that can be taken away to see
// whether chaos finds out: a judge that has never condemned anything proves
// nothing by its silence.
package sabotage

import (
	"slices"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/mutations"
)

// Sabotage is one safety rule taken away. It may be written down in several
// places; all of them go, or the next one would hold.
type Sabotage struct {
	Name  string // of the rule that is missing
	Rule  string // which nobody keeps any more, as a sentence
	Finds string // the invariant that has to be reported broken
	Edits []mutations.Edit
	Meets func(plan.Round) bool // the roll needs the rule, whatever befalls it
}

const (
	candidates = "pkg/fn/roll/candidate.go"
	opening    = "pkg/fn/roll/rules_open.go"
	stepping   = "pkg/fn/roll/rules_step.go"
	waiting    = "pkg/fn/roll/rules_wait.go"
)

// All is every sabotage.
var All = []Sabotage{
	{"handover", "The leader hands over before its pod is given up.", "I2", []mutations.Edit{
		{File: candidates, Find: "\tif v.o.Set.Replicas == 1 {", Replace: "\tif v.o.Set.Replicas >= 0 {"},
		mutations.Of("The victim is asked last before the write."),
	}, several},
	{"waiting", "No pod is given up before the last one is back and all others are well.", "I1", []mutations.Edit{
		{File: waiting, Find: "\tcase !pod.Ready:\n\t\treturn v.notReady(*step, pod), true\n\t}\n\treturn v.unhealthy(*step, pod)\n",
			Replace: "\t}\n\tv.settlePod(*step)\n\treturn Decision{}, false\n"},
		{File: stepping, Find: "\tif verdict.Open() {", Replace: "\tif verdict != nil {"},
		mutations.Of("Every gate is asked again while a release stands."),
		mutations.Of("The other pods are read once more right before the write."),
	}, several},
	{"lock", "The set is locked once the successor exists.", "I3", []mutations.Edit{
		{File: opening, Find: "return v.lock(ReasonRelocked, step.Index, \"the new pod object exists; the set is locked while it starts\"), true", Replace: "return Decision{}, false"},
	}, ratchet},
	{"health", "The set is marked only when every pod is up, healthy and soaked, and the controller has promoted the revision.", "I8", []mutations.Edit{
		{File: waiting, Find: "\tif !verdict.Only(guard.HealthGates...).Open() {", Replace: "\tif false {"},
		{File: waiting, Find: "; soak.Closed() {", Replace: "; false {"},
		mutations.Of("Nothing is marked before the controller has promoted the revision."),
	}, several},
	{"candidate", "Leadership goes to a pod that is on target already, if there is one.", "I9", []mutations.Edit{
		{File: candidates, Find: "\t\t\tpreferTrue(!v.outdated(a), !v.outdated(b)),\n", Replace: "\t\t\tpreferTrue(v.outdated(a), v.outdated(b)),\n\t\t\tcmp.Compare(b, a),\n"},
	}, func(r plan.Round) bool { return ratchet(r) && r.Leader > 0 }},
	{"rest", "A set that is marked is left alone.", "I10", []mutations.Edit{
		{File: waiting, Find: "\treturn v.done(ReasonConverged, \"converged and locked\"), true\n", Replace: "\treturn v.markConverged(), true\n"},
		{File: "pkg/fn/answer.go", Find: "goes = v.Decision.Outcome == roll.Stepped || v.Decision.Outcome == roll.Waiting\n", Replace: "goes = true\n"},
	}, anything},
}

// Named finds one by its name.
func Named(name string) (Sabotage, bool) {
	n := slices.IndexFunc(All, func(s Sabotage) bool { return s.Name == name })
	if n < 0 {
		return Sabotage{}, false
	}
	return All[n], true
}

// Names are those of all, in their order.
func Names() (list []string) {
	for _, s := range All {
		list = append(list, s.Name)
	}
	return list
}

func anything(plan.Round) bool { return true }

// several members have somebody to hand over to and somebody to wait for.
func several(r plan.Round) bool { return r.Shape.Members > 1 }

// ratchet sets have a lock, and their victims follow by index whoever leads.
func ratchet(r plan.Round) bool { return several(r) && !r.Shape.OnDelete }
