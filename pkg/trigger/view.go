package trigger

import (
	"encoding/json"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// SetView is what the trigger knows of a StatefulSet. It is a plain value: everything is judged from it and nothing
// else, so that a judgement can be repeated.
type SetView struct {
	Namespace, Name, UID string
	// Managed says that the set is opted in; Deleting that it is on its way out.
	Managed, Deleting bool

	Generation, ObservedGeneration int64
	Replicas, OrdinalsStart        int32
	// Partition counts indexes. A RollingUpdate set without one has 0, as the StatefulSet controller takes it.
	Partition int32
	// OnDelete sets have no partition and therefore no lock.
	OnDelete, Parallel bool

	CurrentRevision, UpdateRevision string
	// ReadyReplicas and AvailableReplicas are counters of the status. Nothing is ever judged from them; a change in
	// them is only a sign that something happened.
	ReadyReplicas, AvailableReplicas int32

	// What people write.
	Paused                                      bool
	Config, Release, Resume, Override, Approved string
	Wave, Priority                              int

	// What the function writes.
	Phase, ConvergedRevision, Converged, HaltedRevision, HaltID string
	// Seq and StepInFlight come from the rollout record; RecordBroken says that it is there and cannot be read.
	Seq                        int64
	StepInFlight, RecordBroken bool
	UnplannedElections, Moves  int
	// Reason and BlockedBy, the first closed gate, are shown and never judged.
	Reason, BlockedBy string
	// Claimed says that our field manager owns the partition.
	Claimed bool
}

// PodView is what the trigger knows of a pod: metadata only.
type PodView struct {
	UID string
	// Index is the ordinal minus the set's first ordinal.
	Index int32
	// Revision is the pod's own controller-revision-hash label.
	Revision    string
	Terminating bool
}

// Key is "namespace/name".
func (s SetView) Key() string { return s.Namespace + "/" + s.Name }

// Target is the set as events name it.
func (s SetView) Target() events.Target { return events.Target{Namespace: s.Namespace, Name: s.Name} }

func viewOfSet(set *appsv1.StatefulSet) SetView {
	v := SetView{
		Namespace: set.Namespace, Name: set.Name, UID: string(set.UID),
		Managed: set.Labels[events.LabelManaged] == "true", Deleting: set.DeletionTimestamp != nil,
		Generation: set.Generation, ObservedGeneration: set.Status.ObservedGeneration,
		Replicas:        1, // the API server's default; a set read from it always says
		OnDelete:        set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
		Parallel:        set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement,
		CurrentRevision: set.Status.CurrentRevision, UpdateRevision: set.Status.UpdateRevision,
		ReadyReplicas: set.Status.ReadyReplicas, AvailableReplicas: set.Status.AvailableReplicas,
	}
	if set.Spec.Replicas != nil {
		v.Replicas = *set.Spec.Replicas
	}
	if set.Spec.Ordinals != nil {
		v.OrdinalsStart = set.Spec.Ordinals.Start
	}
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		v.Partition = *rolling.Partition
	}
	v.Claimed = claimsPartition(set.ManagedFields)
	readAnnotations(&v, set.Annotations)
	return v
}

func readAnnotations(v *SetView, a map[string]string) {
	v.Paused = events.IsPaused(a)
	v.Config, v.Release, v.Resume = a[events.AnnotationConfig], a[events.AnnotationRelease], a[events.AnnotationResume]
	v.Override, v.Approved = a[events.AnnotationOverride], a[events.AnnotationApproved]
	// A wave that is no number counts as the first one: it must not let a set overtake.
	v.Wave, _ = strconv.Atoi(a[events.AnnotationWave])
	v.Priority, _ = strconv.Atoi(a[events.AnnotationPriority])
	v.Phase = a[events.AnnotationPhase]
	v.ConvergedRevision, v.Converged = a[events.AnnotationConvergedRevision], a[events.AnnotationConverged]
	v.Reason = a[events.AnnotationReason]
	v.HaltedRevision, v.HaltID = a[events.AnnotationHaltedRevision], a[events.AnnotationHaltID]
	readRecord(v, a[events.AnnotationRollout])
}

// readRecord takes the few fields of the rollout record that the trigger has a use for. The record is the function's.
func readRecord(v *SetView, text string) {
	if text == "" {
		return
	}
	var record struct {
		Seq       int64           `json:"seq"`
		Step      json.RawMessage `json:"step"`
		Unplanned int             `json:"unplannedElections"`
		Moves     int             `json:"moves"`
		BlockedBy []string        `json:"blockedBy"`
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		v.RecordBroken = true
		return
	}
	v.Seq, v.UnplannedElections, v.Moves = record.Seq, record.Unplanned, record.Moves
	if v.Phase == events.PhaseBlocked && len(record.BlockedBy) > 0 {
		v.BlockedBy = record.BlockedBy[0]
	}
	v.StepInFlight = len(record.Step) > 0 && string(record.Step) != "null"
}

// ownerSet names the StatefulSet that controls a pod; false if none does.
func ownerSet(pod *metav1.PartialObjectMetadata) (name, uid string, ok bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "StatefulSet" || !strings.HasPrefix(owner.APIVersion, "apps/") {
		return "", "", false
	}
	return owner.Name, string(owner.UID), true
}

// ordinalOf reads the number at the end of a pod's name. The set's own name may hold digits and dashes.
func ordinalOf(set, pod string) (int32, bool) {
	digits, ok := strings.CutPrefix(pod, set+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != digits {
		return 0, false
	}
	return int32(n), true
}
