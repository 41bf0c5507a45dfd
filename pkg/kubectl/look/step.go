package look

import (
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Step is the step in flight.
type Step struct {
	Kind    string    `json:"kind"`
	Pod     string    `json:"pod,omitempty"`
	State   string    `json:"state"` // how far it has come, in words
	Started time.Time `json:"started"`
	// Left is how many seconds the state may still last; past that the step is
	// taken back, or the roll halts.
	Left float64 `json:"secondsLeft"`
}

// inFlight tells how far the step in flight has come; nil when there is none.
func inFlight(o roll.Observed) *Step {
	s := o.Record.Step
	if s == nil {
		return nil
	}
	state, until := "", time.Time{}
	switch s.Kind {
	case roll.StepMove:
		state, until = "leadership moves to "+o.Set.PodName(s.ToIndex), s.Started.Add(o.Limits.CallWindow)
	case roll.StepAdopt:
		state, until = "found open; its missing pod has to be back first", s.Started.Add(o.Limits.ReadyTimeout)
	default:
		state, until = replacement(o, *s)
	}
	step := &Step{Kind: string(s.Kind), State: state, Started: s.Started, Left: max(0, until.Sub(o.Now).Seconds())}
	if s.Kind != roll.StepAdopt {
		step.Pod = o.Set.PodName(s.Index)
	}
	return step
}

// replacement is how far the replacement of a pod has come, and until when it
// may take.
func replacement(o roll.Observed, s roll.Step) (string, time.Time) {
	pod := o.Pod(s.Index)
	deadline := s.Started.Add(o.Limits.ReadyTimeout)
	switch {
	case len(o.Pods) == 0:
		return "is being replaced", deadline
	case pod.Exists && !pod.Terminating && pod.UID == s.PodUID:
		return "released; the controller has to act on it", s.Started.Add(o.Limits.ArmWindow)
	case !pod.Exists:
		return "gone; not yet created again", deadline
	case pod.Terminating:
		return "terminating", deadline
	case !pod.Ready && pod.Detail != "":
		return "starting: " + pod.Detail, deadline
	case !pod.Ready:
		return "starting", deadline
	}
	return settling(o, pod, s.Index)
}

// settling is a pod that is Ready: its member has to be healthy, and then to
// stay so for the cool-down.
func settling(o roll.Observed, pod guard.Pod, index int) (string, time.Time) {
	if o.Probed {
		health := guard.Judge(o.Snapshot, guard.NoVictim).Only(guard.HealthGates...)
		if objections := health.Objections(); len(objections) > 0 {
			f := objections[0]
			return fmt.Sprintf("Ready; %s: %s", f.Gate, f.Measured), pod.UpSince().Add(o.Limits.HealthTimeout)
		}
	}
	need := o.Limits.Soak(o.Set.MinReady)
	if left := need - guard.SoakedFor(o.Snapshot, index); left > 0 {
		return "Ready; cools down", o.Now.Add(left)
	}
	return "Ready and cooled down; the next step is due", o.Now
}
