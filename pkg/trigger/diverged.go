package trigger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// State says in one word how a set stands.
type State int

const (
	// Idle sets are converged and locked, or not ours.
	Idle State = iota
	// Active sets have something to be done.
	Active
	// Blocked sets wait for a precondition that clears by itself.
	Blocked
	// Halted sets wait for a person or a new template.
	Halted
	// Paused sets wait for the person who paused them.
	Paused
)

// String is the word used in logs.
func (s State) String() string {
	return [...]string{"idle", "active", "blocked", "halted", "paused"}[s]
}

// Pace says when a set is to be asked about.
type Pace int

const (
	// Never: there is nothing to ask.
	Never Pace = iota
	// OnChange: once for each change of the set or its pods.
	OnChange
	// Backoff: at growing intervals, from the start again after each change.
	Backoff
	// Heartbeat: every few seconds besides the changes.
	Heartbeat
)

// Reasons why somebody should look at a set, as events and logs give them.
const (
	BecauseStatusIsStale    = "the status lags behind the spec"
	BecauseRecordIsBroken   = "the rollout record cannot be read"
	BecauseStepInFlight     = "a step is in flight"
	BecausePodIsOutdated    = "a pod is not at the target revision"
	BecauseOpen             = "the set is open: partition is below replicas"
	BecauseResumeWanted     = "a halt is to be cleared"
	BecauseNotMarked        = "the target revision is not marked as converged"
	BecauseReleaseNotMarked = "the release token is not marked as converged"
	BecauseClaimed          = "the partition is still claimed after the roll"
)

// Assessment is the judgement over one set at one moment.
type Assessment struct {
	State State
	// Pace says when to ask; Ask is the same as Pace != Never.
	Pace Pace
	Ask  bool
	// Reason is one of the phrases above; empty if there is nothing to do.
	Reason string
	// Fingerprint stands for everything but what the function itself writes, so that its own marks call nobody.
	Fingerprint string
	// Diverged says that the set is not converged and locked on its target.
	Diverged bool
	// Outdated counts the pods that are not at the target revision.
	Outdated int
	// Open says that the StatefulSet controller may replace a pod by itself.
	Open bool
	// Rolling says that a roll has begun and must not be left standing.
	Rolling bool
}

// Assess judges a set by its own annotations and its pods' own labels. It never reads the counters of the status, and
// it is total: what it cannot read, it takes for a reason to ask.
func Assess(set SetView, pods []PodView) Assessment {
	a := Assessment{Fingerprint: Fingerprint(set, pods), Open: isOpen(set)}
	if !set.Managed || set.Deleting {
		return a
	}
	a.Outdated = countOutdated(set, pods)
	a.Reason = whyDiverged(set, a)
	a.Diverged = a.Reason != ""
	a.Rolling = isRolling(set, pods, a)
	a.State, a.Pace = pace(set, a)
	a.Ask = a.Pace != Never
	return a
}

func whyDiverged(set SetView, a Assessment) string {
	switch {
	case set.ObservedGeneration != set.Generation, set.UpdateRevision == "":
		return BecauseStatusIsStale
	case set.StepInFlight:
		return BecauseStepInFlight
	case a.Open:
		return BecauseOpen
	case isHalted(set) && resumeMatches(set):
		return BecauseResumeWanted
	case a.Outdated > 0:
		return BecausePodIsOutdated
	case set.RecordBroken:
		return BecauseRecordIsBroken
	case set.ConvergedRevision != set.UpdateRevision:
		return BecauseNotMarked
	case set.Release != "" && set.Release != set.Converged:
		return BecauseReleaseNotMarked
	case set.Claimed:
		return BecauseClaimed
	}
	return ""
}

// pace holds the rule that no standstill, wanted or not, may keep a set open: an open set and one with a step in
// flight are asked about until they are closed.
func pace(set SetView, a Assessment) (State, Pace) {
	unfinished := a.Open || set.StepInFlight
	switch {
	case !a.Diverged:
		return Idle, Never
	case a.Reason == BecauseStatusIsStale:
		return Active, Heartbeat
	case isHalted(set) && !resumeMatches(set) && a.Outdated == 0:
		// Somebody has mended it. It is marked once its members are well, and no change of ours tells when that is.
		return Halted, unless(unfinished, Backoff)
	case isHalted(set) && !resumeMatches(set):
		return Halted, unless(unfinished, OnChange)
	case set.Paused:
		return Paused, unless(unfinished, OnChange)
	case set.Phase == events.PhaseBlocked:
		return Blocked, unless(unfinished, Backoff)
	default:
		return Active, Heartbeat
	}
}

func unless(unfinished bool, slower Pace) Pace {
	if unfinished {
		return Heartbeat
	}
	return slower
}

// isOpen: OnDelete sets have no lock to be open.
func isOpen(set SetView) bool { return !set.OnDelete && set.Partition < set.Replicas }

func isHalted(set SetView) bool {
	return set.HaltedRevision != "" && set.HaltedRevision == set.UpdateRevision
}

// resumeMatches: a resume that names another halt is a leftover, and asking for it again and again would not help.
func resumeMatches(set SetView) bool {
	return set.Resume != "" && (set.HaltID == "" || set.Resume == set.HaltID)
}

func countOutdated(set SetView, pods []PodView) (n int) {
	for _, pod := range pods {
		if belongs(set, pod) && pod.Revision != set.UpdateRevision {
			n++
		}
	}
	return n
}

// belongs is false for a pod that scaling down has yet to remove: it will never be rolled.
func belongs(set SetView, pod PodView) bool { return pod.Index >= 0 && pod.Index < set.Replicas }

func isRolling(set SetView, pods []PodView, a Assessment) bool {
	if !a.Diverged {
		return false
	}
	mixed := a.Outdated > 0 && slices.ContainsFunc(pods, func(pod PodView) bool {
		return belongs(set, pod) && pod.Revision == set.UpdateRevision
	})
	standsStill := (isHalted(set) || set.Paused) && !a.Open
	return set.StepInFlight || set.Phase == events.PhaseRolling || (mixed && !standsStill)
}

// Fingerprint stands for the set, its pods and what people wrote on it. Two states with the same fingerprint need no
// second event. Uid, generation and revision are all in it: going back from B to A brings the revision name of A
// back, but never its generation. The order of the pods does not matter; their ordinals are compared as numbers.
func Fingerprint(set SetView, pods []PodView) string {
	h := sha256.New()
	put(h, set.UID, set.Managed, set.Deleting, set.Generation, set.ObservedGeneration, set.Replicas, set.OrdinalsStart,
		set.Partition, set.OnDelete, set.Parallel, set.CurrentRevision, set.UpdateRevision, set.ReadyReplicas,
		set.AvailableReplicas)
	put(h, set.Paused, set.Config, set.Release, set.Resume, set.Override, set.Approved, set.Wave, set.Priority)
	sorted := slices.Clone(pods)
	slices.SortFunc(sorted, func(a, b PodView) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.UID, b.UID))
	})
	for _, pod := range sorted {
		put(h, pod.Index, pod.UID, pod.Revision, pod.Terminating)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func put(h hash.Hash, parts ...any) {
	for _, part := range parts {
		text := fmt.Sprint(part)
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
}
