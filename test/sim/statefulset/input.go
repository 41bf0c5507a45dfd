package statefulset

import "time"

// MostPods is how many replicas a set can have here.
const MostPods = 5

// Revision numbers a pod template.
type Revision = int

// Unset is no revision.
const Unset Revision = -1

// Phase is how far a pod has come.
type Phase uint8

const (
	Missing  Phase = iota // there is no such pod
	Pending               // not all containers have been started
	Running               // running, well or not
	Finished              // Failed or Succeeded: it will not run again
)

// Pod is a pod as the controller's cache has it.
type Pod struct {
	Phase       Phase
	Terminating bool
	Ready       bool          // the condition, whatever the phase
	ReadyFor    time.Duration // since the condition changed last; 0 if that is unknown
	Revision    Revision      // its controller-revision-hash
}

func (p *Pod) outdated(in *Input) bool { return p.Phase != Missing && p.Revision != in.Template }

// runningAndReady is what readyReplicas counts.
func (p *Pod) runningAndReady() bool { return p.Phase == Running && p.Ready }

// Input is all that one sync depends on.
type Input struct {
	Generation     int64
	Replicas       int // at most MostPods
	Partition      int // counts only without OnDelete
	MaxUnavailable int // counts only if Budgeted
	MinReady       time.Duration
	OnDelete       bool // the update strategy; RollingUpdate otherwise
	Parallel       bool // the pod management policy; OrderedReady otherwise
	Budgeted       bool // the feature gate MaxUnavailableStatefulSet is on
	Deleting       bool
	Template       Revision // what the template makes: the update revision
	Current        Revision // status.currentRevision; Unset before the first sync
	Pods           [MostPods]Pod
}

// current is the revision that indexes below the partition are created from.
func (in *Input) current() Revision {
	if in.Current == Unset {
		return in.Template
	}
	return in.Current
}

// available is Ready for minReadySeconds. The controller does not look at the
// phase here, nor at whether the pod is terminating.
func (in *Input) available(i int) bool {
	p := &in.Pods[i]
	return p.Ready && (in.MinReady == 0 || p.ReadyFor >= in.MinReady)
}

// unavailable is what counts against the budget, missing pods included.
func (in *Input) unavailable(i int) bool { return !in.available(i) || in.Pods[i].Terminating }
