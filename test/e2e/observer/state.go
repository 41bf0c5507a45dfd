package observer

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// SetState is the StatefulSet at one resourceVersion.
type SetState struct {
	At          time.Time // when it was seen here
	Version     uint64    // resourceVersion
	Generation  int64
	Observed    int64
	Replicas    int
	Partition   int
	OnDelete    bool   // such a set has no lock to be open
	Update      string // the target revision
	Current     string
	Annotations map[string]string
	Managers    []string // field managers that claim partition
	Deleted     bool
}

// Locked says that the StatefulSet controller replaces nothing by itself.
func (s SetState) Locked() bool { return s.OnDelete || s.Partition >= s.Replicas }

// Marked says that the product calls this very state converged.
func (s SetState) Marked() bool {
	return s.Observed == s.Generation && s.Annotations[events.AnnotationPhase] == events.PhaseConverged &&
		s.Annotations[events.AnnotationConvergedRevision] == s.Update
}

// PodState is one pod at one resourceVersion.
type PodState struct {
	At          time.Time
	Version     uint64
	Index       int
	UID         string
	Revision    string
	Image       string
	Node        string
	IP          string
	Restarts    int
	Ready       bool
	Terminating bool
	Gone        bool
}

// Up says that the pod exists, stays, and is Ready.
func (p PodState) Up() bool { return p.UID != "" && p.Ready && !p.Terminating && !p.Gone }

func setState(s *appsv1.StatefulSet) SetState {
	state := SetState{
		At: time.Now(), Version: version(s.ResourceVersion), Generation: s.Generation, Observed: s.Status.ObservedGeneration,
		Update: s.Status.UpdateRevision, Current: s.Status.CurrentRevision, Annotations: s.Annotations,
	}
	state.OnDelete = s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	if s.Spec.Replicas != nil {
		state.Replicas = int(*s.Spec.Replicas)
	}
	if r := s.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
		state.Partition = int(*r.Partition)
	}
	for _, m := range s.ManagedFields {
		if m.FieldsV1 != nil && strings.Contains(string(m.FieldsV1.GetRawBytes()), `"f:partition"`) {
			state.Managers = append(state.Managers, m.Manager)
		}
	}
	return state
}

func podState(p *corev1.Pod) PodState {
	state := PodState{
		At: time.Now(), Version: version(p.ResourceVersion), Index: ordinal(p.Name), UID: string(p.UID),
		Revision: p.Labels[events.PodRevisionLabel], Node: p.Spec.NodeName, IP: p.Status.PodIP,
		Terminating: p.DeletionTimestamp != nil,
	}
	if len(p.Spec.Containers) > 0 {
		state.Image = p.Spec.Containers[0].Image
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			state.Ready = c.Status == corev1.ConditionTrue
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		state.Restarts += int(c.RestartCount)
	}
	return state
}

// version reads a resourceVersion as the number it is where the API server is
// backed by etcd; there it orders all objects, not only those of one kind.
func version(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

func ordinal(name string) int {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil {
		return -1
	}
	return n
}

// Announcement is a leader move that the product said it would make, in a write
// that was accepted before it made the call.
type Announcement struct {
	At       time.Time
	Seq      int64
	Began    time.Time // of the step: a move that other writes repeat is one move
	From, To uint64
}

// Record is what is read of the product's own annotation.
type Record struct {
	Seq  int64 `json:"seq"`
	Step *struct {
		Kind    string    `json:"kind"`
		Index   int       `json:"index"`
		Started time.Time `json:"started"`
		From    string    `json:"from"`
		To      string    `json:"to"`
	} `json:"step"`
	Attempts map[string]int `json:"attempts"`
	Last     *struct {
		Target    string    `json:"target"`
		Started   time.Time `json:"started"`
		Finished  time.Time `json:"finished"`
		Moves     int       `json:"moves"`
		Unplanned int       `json:"unplannedElections"`
		Pods      map[string]struct {
			Began   time.Time `json:"began"`
			Ready   time.Time `json:"ready"`
			Settled time.Time `json:"settled"`
		} `json:"pods"`
	} `json:"last"`
}

// Record reads the rollout annotation; zero when there is none.
func (s SetState) Record() Record {
	var r Record
	_ = json.Unmarshal([]byte(s.Annotations[events.AnnotationRollout]), &r)
	return r
}

func (s SetState) announcement() (Announcement, bool) {
	r := s.Record()
	if r.Step == nil || r.Step.Kind != "move" {
		return Announcement{}, false
	}
	from, errFrom := strconv.ParseUint(r.Step.From, 16, 64)
	to, errTo := strconv.ParseUint(r.Step.To, 16, 64)
	return Announcement{At: s.At, Seq: r.Seq, Began: r.Step.Started, From: from, To: to}, errFrom == nil && errTo == nil
}
