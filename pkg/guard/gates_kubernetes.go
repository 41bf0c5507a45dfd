package guard

import (
	"fmt"
	"strings"
	"time"
)

// statusCurrent: the controller has seen this spec, so its revisions speak
// about it.
func statusCurrent(s Snapshot, _ Plan) Finding {
	if s.Set.Deleting {
		return object("the set is being deleted", "a living set")
	}
	measured := fmt.Sprintf("observed generation %d of %d", s.Set.ObservedGeneration, s.Set.Generation)
	if !s.Set.StatusCurrent() {
		return object(measured, "equal, with an update revision")
	}
	return pass(measured, "equal")
}

// shapeSupported: the set is of a kind whose controller does what the
// protocol relies on.
func shapeSupported(s Snapshot, _ Plan) Finding {
	set := s.Set
	switch {
	case set.Strategy == StrategyUnknown:
		return object("unknown update strategy", "RollingUpdate or OnDelete")
	case set.Management == ManagementUnknown:
		return object("unknown pod management policy", "OrderedReady or Parallel")
	case set.Replicas < 1 || set.Replicas > MaxReplicas:
		return object(fmt.Sprintf("replicas %d", set.Replicas), fmt.Sprintf("1 to %d", MaxReplicas))
	case set.Strategy == RollingUpdate && set.MaxUnavailable != 1:
		return object(fmt.Sprintf("rollingUpdate.maxUnavailable resolves to %d", set.MaxUnavailable), "1")
	case set.StatusCurrent() && set.StatusReplicas > set.Replicas:
		return object(fmt.Sprintf("%d pods for %d replicas: scaling down", set.StatusReplicas, set.Replicas), "no scaling under way")
	}
	return pass(fmt.Sprintf("%d replicas", set.Replicas), fmt.Sprintf("1 to %d, one at a time", MaxReplicas))
}

// onePodInFlight: every pod is there and up, except a victim that is broken
// already. Judged from pods: status still counts a terminating pod as ready.
func onePodInFlight(s Snapshot, p Plan) Finding {
	var bad []string
	for i := range s.Set.Indexes() {
		if p.exempt(i) {
			continue
		}
		if state := podState(s.Pod(i)); state != "" {
			bad = append(bad, s.Set.PodName(i)+" "+state)
		}
	}
	if s.Set.Replicas < 1 || len(bad) > 0 {
		return object(orNone(bad, "no replicas"), "every pod present, Ready, none terminating")
	}
	return pass("every pod is Ready", "every pod present, Ready, none terminating")
}

// podState names what keeps a pod from being usable; "" when nothing does.
func podState(p Pod) string {
	switch {
	case !p.Exists:
		return "is missing"
	case !p.Owned:
		return "belongs to another owner"
	case p.Terminating:
		return "is terminating"
	case !p.Ready && p.Detail != "":
		return "is not Ready: " + p.Detail
	case !p.Ready:
		return "is not Ready"
	}
	return ""
}

// soaked: each pod has been up long enough to believe in it. The clock starts
// anew when a container restarts. A transition in the future (clock skew
// between nodes) counts as no time at all.
func soaked(s Snapshot, p Plan) Finding {
	need := s.Limits.Soak(s.Set.MinReady)
	youngest, which := time.Duration(-1), -1
	for i := range s.Set.Indexes() {
		if p.exempt(i) {
			continue
		}
		age := SoakedFor(s, i)
		if which < 0 || age < youngest {
			youngest, which = age, i
		}
	}
	threshold := "Ready for " + need.String()
	if which < 0 {
		return pass("no other pod", threshold)
	}
	measured := fmt.Sprintf("%s Ready for %s", s.Set.PodName(which), youngest.Truncate(time.Second))
	if !s.Pod(which).Usable() || youngest < need {
		return object(measured, threshold)
	}
	return pass(measured, threshold)
}

// SoakedFor is how long pod i has been up; 0 when it is not, or when that
// cannot be told.
func SoakedFor(s Snapshot, i int) time.Duration {
	p := s.Pod(i)
	if !p.Usable() || p.UpSince().IsZero() {
		return 0
	}
	return max(0, s.Now.Sub(p.UpSince()))
}

// disruptionBudget: workload controllers ignore budgets, so we honour them
// here. Without the right to read them the gate passes and says so.
func disruptionBudget(s Snapshot, p Plan) Finding {
	b := s.Budget
	switch {
	case b.Read != Yes:
		f := pass("not readable", "allows 1 disruption")
		f.Note = `missing right: verb "list" on resource "poddisruptionbudgets"; no budget is honoured`
		return f
	case !b.Found:
		return pass("no budget selects the pods", "allows 1 disruption")
	case p.Stuck || b.Allowed >= 1:
		// A pod that is down already costs the budget nothing more.
		return pass(fmt.Sprintf("%s allows %d", b.Name, b.Allowed), "allows 1 disruption")
	}
	return object(fmt.Sprintf("%s allows %d", b.Name, b.Allowed), "allows 1 disruption")
}

// templateLint: a restart of these pods loses nothing by itself.
func templateLint(s Snapshot, p Plan) Finding {
	t := s.Template
	var bad []string
	if t.Data != Persistent && !s.Limits.AllowEphemeral {
		bad = append(bad, "the data directory is not known to be on a persistent volume")
	}
	if t.Grace < s.Limits.MinGrace {
		bad = append(bad, fmt.Sprintf("terminationGracePeriodSeconds %d", int(t.Grace.Seconds())))
	}
	if t.RemovesMember {
		bad = append(bad, "preStop removes the member")
	}
	if gone := removedFlags(t.Flags, targetVersion(s)); len(gone) > 0 {
		bad = append(bad, "flags unknown to the target version: "+strings.Join(gone, ", "))
	}
	threshold := fmt.Sprintf("persistent data, grace >= %s, no member removal, only known flags", s.Limits.MinGrace)
	if len(bad) > 0 {
		return object(strings.Join(bad, "; "), threshold)
	}
	return pass("nothing found", threshold)
}

func orNone(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, "; ")
}
