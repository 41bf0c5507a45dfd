package plan

import (
	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/kubectl/look"
)

// Plan is what the function would do now, and what it rests on.
type Plan struct {
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	Standing  look.Standing `json:"standing"`
	Updated   int           `json:"updated"`
	Replicas  int           `json:"replicas"`
	From      string        `json:"currentRevision,omitempty"`
	To        string        `json:"updateRevision,omitempty"`

	Next Next `json:"next"`
	// Problem is a configuration that cannot be used. It stands in the way of the
	// next step also where none is due; members were not asked.
	Problem *Problem `json:"problem,omitempty"`
	ToGo    []string `json:"podsToReplace"` // in their order
	Moves   *int     `json:"leaderMovesToCome,omitempty"`

	For           string    `json:"gatesFor,omitempty"` // the pod to be taken down; empty: health alone
	Gates         []Gate    `json:"gates"`
	Configuration []Setting `json:"configuration"`
	Notes         []string  `json:"notes,omitempty"`
}

// Next is the decision.
type Next struct {
	Outcome   string `json:"outcome"`
	Rule      string `json:"rule"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	Remedy    string `json:"remedy,omitempty"`
	Step      string `json:"step,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Partition *int   `json:"partition,omitempty"`
	Call      string `json:"call,omitempty"`
}

// Problem is what is wrong with configuration or credentials.
type Problem struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// Gate is one gate with its reading.
type Gate struct {
	Name      string `json:"gate"`
	Verdict   string `json:"verdict"` // pass, closed or overridden
	Kind      string `json:"kind"`    // hard or soft
	Measured  string `json:"measured"`
	Threshold string `json:"threshold"`
	Note      string `json:"note,omitempty"`
}

// Setting is one configuration value and where it comes from.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	From  string `json:"from"`
	About string `json:"about,omitempty"`
}

// of makes the plan of what was observed and decided.
func of(s *fn.Sight, d roll.Decision, picture look.Set) Plan {
	p := Plan{
		Namespace: picture.Namespace, Name: picture.Name, Standing: picture.Standing, Updated: picture.Updated, Replicas: picture.Replicas,
		From: picture.From, To: picture.To, Next: next(s, d), ToGo: []string{}, Gates: []Gate{}, Configuration: []Setting{},
	}
	if !s.Set.Managed {
		return p
	}
	ahead := roll.LookAhead(s.Observed)
	for _, i := range ahead.Victims {
		p.ToGo = append(p.ToGo, s.Set.PodName(i))
	}
	if ahead.Moves >= 0 {
		p.Moves = &ahead.Moves
	}
	if ahead.Plan.Victim >= 0 {
		p.For = s.Set.PodName(ahead.Plan.Victim)
	}
	if c := s.Config; c != nil {
		p.Problem = &Problem{string(c.Reason), c.Message, roll.Explain(c.Reason).Remedy}
	}
	for _, f := range ahead.Verdict {
		if p.Problem == nil || len(s.Members) > 0 {
			p.Gates = append(p.Gates, gate(f))
		}
	}
	for _, l := range s.Settings.Explain() {
		p.Configuration = append(p.Configuration, Setting{l.Key, l.Value, string(l.Origin), l.About})
	}
	p.Notes = notes(s, d)
	return p
}

func next(s *fn.Sight, d roll.Decision) Next {
	n := Next{Outcome: d.Outcome.String(), Rule: d.Rule, Reason: string(d.Reason), Message: d.Message, Step: string(d.Step)}
	if d.Outcome == roll.Blocked || d.Outcome == roll.Halted || d.Reason == roll.ReasonPaused || s.Status.Phase == roll.PhaseHalted {
		n.Remedy = roll.Explain(d.Reason).Remedy
	}
	if d.Victim >= 0 {
		n.Pod = s.Set.PodName(d.Victim)
	}
	if d.Write != nil && d.Write.SetPartition {
		n.Partition = &d.Write.Partition
	}
	switch d.Effect.Kind {
	case roll.MoveLeader:
		n.Call = "ask member " + d.Effect.From.String() + " to hand leadership to " + d.Effect.To.String()
	case roll.DeletePod:
		n.Call = "delete pod " + s.Set.PodName(d.Effect.Index)
	}
	return n
}

func gate(f guard.Finding) Gate {
	g := Gate{Name: string(f.Gate), Verdict: "closed", Kind: "hard", Measured: f.Measured, Threshold: f.Threshold, Note: f.Note}
	if f.Kind == guard.Soft {
		g.Kind = "soft"
	}
	switch {
	case f.Passed:
		g.Verdict = "pass"
	case f.Override != "":
		g.Verdict, g.Note = "overridden", f.Override
	}
	return g
}

// notes are what makes this view differ from the function's.
func notes(s *fn.Sight, d roll.Decision) []string {
	var list []string
	if s.Config != nil {
		list = append(list, "configuration and Secrets were read with your rights, not with the function's; to use the function's, if you may impersonate it: --as=system:serviceaccount:NAMESPACE:NAME")
	}
	if d.Step == roll.StepRecover || d.Step == roll.StepDelete || d.Reason == roll.ReasonDeleteNeeded {
		list = append(list, "whether pods may be deleted was asked for you, not for the function")
	}
	if s.Paused {
		list = append(list, "the set is paused; what comes after is what a resume would meet")
	}
	return list
}

// inTheWay is the reason that keeps the roll from going on; "" is none.
func (p Plan) inTheWay() string {
	switch {
	case p.Next.Outcome == roll.Blocked.String(), p.Next.Outcome == roll.Halted.String(), p.Standing == look.Standing(roll.PhaseHalted):
		return p.Next.Reason
	case p.Problem != nil:
		return p.Problem.Reason
	}
	return ""
}
