package look

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Standing is how a set stands: the phase it carries, or what can be said
// where that is missing or speaks of an older template.
type Standing string

// The standings beyond the five phases.
const (
	Unmanaged Standing = "Unmanaged" // not opted in
	Unmarked  Standing = "Unmarked"  // opted in, and nobody has looked yet
	Pending   Standing = "Pending"   // a change that no step has been taken for yet
	Deleting  Standing = "Deleting"
)

// Set is what is shown of a set. Fields that are not known are left out.
type Set struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Standing  Standing `json:"standing"`
	Paused    bool     `json:"paused,omitempty"`
	Converged bool     `json:"converged"` // at the set's present revision, which the controller has seen
	Reason    string   `json:"reason,omitempty"`
	Message   string   `json:"message,omitempty"`
	Remedy    string   `json:"remedy,omitempty"`
	HaltID    string   `json:"haltID,omitempty"`

	Replicas  int    `json:"replicas"`
	Updated   int    `json:"updated"` // pods on the target revision
	Ready     int    `json:"ready"`
	Partition int    `json:"partition"`
	Lock      string `json:"lock"` // locked, open or none (OnDelete)
	From      string `json:"currentRevision,omitempty"`
	To        string `json:"updateRevision,omitempty"`
	Release   string `json:"release,omitempty"`

	Sequence    int64      `json:"sequence"`
	Moves       int        `json:"leaderMoves"`
	MovesToCome *int       `json:"leaderMovesToCome,omitempty"`
	Unplanned   int        `json:"unplannedElections"`
	Started     *time.Time `json:"started,omitempty"`
	Seconds     float64    `json:"secondsRolling,omitempty"`

	Step    *Step    `json:"step,omitempty"`
	Members []Member `json:"members,omitempty"`
	Gates   []Gate   `json:"blockedBy,omitempty"`
	Notes   []string `json:"notes,omitempty"`

	age time.Duration
}

// Gate is a gate that objects.
type Gate struct {
	Name      string `json:"gate"`
	Measured  string `json:"measured,omitempty"`
	Threshold string `json:"threshold,omitempty"`
	Override  bool   `json:"canBeOverridden"`
}

// Facts are what a set is shown from.
type Facts struct {
	Object   *appsv1.StatefulSet
	Observed roll.Observed // with pods, or without for one line
	Pods     bool          // the pods were read
	Notes    []string
}

// At makes the picture.
func At(f Facts) Set {
	o := f.Observed
	s := Set{
		Namespace: o.Set.Namespace, Name: o.Set.Name,
		Standing: standing(o), Paused: o.Paused, Converged: Converged(o),
		Replicas: o.Set.Replicas, Partition: o.Set.Partition, Lock: lockWord(o.Set),
		From: o.Set.CurrentRevision, To: o.Set.UpdateRevision, Release: o.Release,
		Sequence: o.Record.Seq, Moves: o.Record.Moves, Unplanned: o.Record.Unplanned, Notes: f.Notes,
		Updated: int(f.Object.Status.UpdatedReplicas), Ready: int(f.Object.Status.ReadyReplicas),
		age: o.Now.Sub(f.Object.CreationTimestamp.Time),
	}
	if o.Record.Target != o.Set.UpdateRevision {
		s.Moves, s.Unplanned = 0, 0 // they are of an earlier roll
	}
	s.reasons(o)
	if underWay(o) {
		started := o.Record.Started
		s.Started, s.Seconds = &started, max(0, o.Now.Sub(started).Seconds())
		s.Step = inFlight(o)
	}
	if f.Pods {
		s.count(o)
		s.Members = members(o)
	}
	s.ahead(o)
	return s
}

// underWay says that the record speaks of an unfinished roll of this set.
func underWay(o roll.Observed) bool {
	return o.Set.Managed && o.Record.UID == o.Set.UID && o.Record.Seq > 0 && !o.Record.Done && !o.Record.Started.IsZero() && !Converged(o)
}

func standing(o roll.Observed) Standing {
	switch s := o.Status; {
	case o.Set.Deleting:
		return Deleting
	case !o.Set.Managed:
		return Unmanaged
	case Halted(o):
		return Standing(roll.PhaseHalted)
	case s.Phase == "":
		return Unmarked
	case s.Phase == roll.PhaseConverged && !Converged(o), s.Phase == roll.PhaseHalted:
		return Pending
	case o.Paused && s.Phase != roll.PhaseConverged:
		return Standing(roll.PhasePaused)
	}
	return Standing(o.Status.Phase)
}

// Converged says that the set is marked converged at its present revision and
// release token, and that the controller has seen its present spec.
func Converged(o roll.Observed) bool {
	return o.Set.StatusCurrent() && !o.Set.Deleting && o.Status.Phase == roll.PhaseConverged &&
		o.Status.ConvergedRevision == o.Set.UpdateRevision && o.Status.ConvergedToken == o.Release
}

// Halted says that a halt speaks about the set's present template.
func Halted(o roll.Observed) bool {
	return o.Set.StatusCurrent() && o.Status.HaltID != "" && o.Status.HaltedRevision == o.Set.UpdateRevision
}

func lockWord(s guard.Set) string {
	switch {
	case s.Strategy != guard.RollingUpdate:
		return "none"
	case s.Open():
		return "open"
	}
	return "locked"
}

// reasons takes over what the set says of itself, unless that speaks of an
// older template.
func (s *Set) reasons(o roll.Observed) {
	switch s.Standing {
	case Pending:
		s.Message = "the template has changed; no step has been taken for it yet"
	case Unmarked:
		s.Message = "opted in; it is marked once its members are up, healthy and cooled down (if that lasts: does the trigger watch this namespace?)"
	case Unmanaged, Deleting:
	default:
		s.Reason, s.Message = string(o.Status.Reason), o.Status.Message
		if o.Status.Phase == roll.PhaseBlocked || s.Standing == Standing(roll.PhaseHalted) {
			s.Remedy = roll.Explain(o.Status.Reason).Remedy
		}
	}
	if s.Standing == Standing(roll.PhaseHalted) {
		s.HaltID = o.Status.HaltID
	}
	if o.Paused && s.Reason != string(roll.ReasonPaused) {
		s.Notes = append(s.Notes, "paused: no further member will be taken down")
	}
}

// count judges pods and not counters, which lag and count ending pods.
func (s *Set) count(o roll.Observed) {
	s.Updated, s.Ready = 0, 0
	for i := range o.Set.Replicas {
		p := o.Pod(i)
		if p.Usable() {
			s.Ready++
		}
		if p.Exists && !p.Terminating && p.Revision == o.Set.UpdateRevision {
			s.Updated++
		}
	}
}

// ahead tells what is still to come, where the members were asked.
func (s *Set) ahead(o roll.Observed) {
	blocked := s.Standing == Standing(roll.PhaseBlocked)
	if !o.Probed {
		for _, name := range o.Record.BlockedBy {
			if blocked {
				s.Gates = append(s.Gates, Gate{Name: name})
			}
		}
		return
	}
	a := roll.LookAhead(o)
	if a.Moves >= 0 && len(a.Victims) > 0 {
		s.MovesToCome = &a.Moves
	}
	if blocked || s.Standing == Standing(roll.PhaseHalted) {
		s.Gates = Objections(a.Verdict)
	}
}

// Objections are the gates that forbid the step.
func Objections(verdict guard.Verdict) []Gate {
	var gates []Gate
	for _, f := range verdict.Objections() {
		if f.Echo {
			continue // what is said of the silent member is enough
		}
		gates = append(gates, Gate{Name: string(f.Gate), Measured: f.Measured, Threshold: f.Threshold, Override: f.Kind == guard.Soft})
	}
	return gates
}
