package sim

import (
	"strconv"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

const (
	mostMembers = statefulset.MostPods
	never       = 1 << 30 // a tick that does not come
	noPod       = -1
)

// set is the StatefulSet as the API server holds it.
type set struct {
	rv             int64
	gen, seenGen   int64 // generation, status.observedGeneration
	replicas       int
	partition      int
	maxUnavailable int
	template       int // the revision the template makes
	managed        bool
	deleting       bool

	current, update int // status revisions; noRevision at first
	// status: replicas, readyReplicas, availableReplicas, updatedReplicas, currentReplicas
	counted, ready, available, updated, olden int

	paused  bool
	release string
	resume  string
	claims  bool // our manager owns partition
	status  roll.Status
	record  *roll.Record // never changed once stored

	episode *episode // who opened the set, nil while locked
}

const noRevision = statefulset.Unset

// computed is the status that the controller wrote last.
func (s *set) computed() statefulset.Status {
	return statefulset.Status{
		ObservedGeneration: s.seenGen, CurrentRevision: s.current, UpdateRevision: s.update,
		Replicas: s.counted, ReadyReplicas: s.ready, AvailableReplicas: s.available, CurrentReplicas: s.olden, UpdatedReplicas: s.updated,
	}
}

// compute stores a status, the generation excepted, which never goes back.
func (s *set) compute(st statefulset.Status) {
	s.current, s.update = st.CurrentRevision, st.UpdateRevision
	s.counted, s.ready, s.available = st.Replicas, st.ReadyReplicas, st.AvailableReplicas
	s.updated, s.olden = st.UpdatedReplicas, st.CurrentReplicas
}

func (s *set) open() bool { return s.partition < s.replicas }

// episode lasts from the write that opens the set to the one that locks it.
type episode struct {
	ours      bool
	index     int
	opened    int
	templated bool // the template changed meanwhile
	evicted   bool // a pod was taken away by others meanwhile
	taken     []int
}

// pod is a pod and the plan fate has for it.
type pod struct {
	exists, terminating, running, ready, failed bool

	uid, rv                       int
	revision                      int
	created, started, readyChange int
	trouble                       guard.Trouble

	runAt, joinAt, readyAt int // when the container runs, the member joins, the pod is Ready
	stopAt, goneAt         int // when the member stops, the object goes
}

func (p *pod) usable() bool { return p.exists && !p.terminating && p.ready }

// cause is why a member is down.
type cause uint8

const (
	notDown cause = iota
	byOthers
	byUs
)

// member is one etcd member.
type member struct {
	process bool   // etcd runs and has joined
	cut     bool   // its node cannot be reached
	lag     uint64 // entries behind the leader's commit index
	leader  int    // whom it believes to lead; noPod when nobody
	term    uint64 // the term it believes in
	down    cause
	corrupt bool // applied the same entries, holds another revision
}

func (m *member) up() bool { return m.process && !m.cut }

// trait is what a revision does to the pods that run it.
type trait uint8

const (
	good    trait = iota
	crash         // the container exits again and again
	noImage       // the image cannot be pulled
	noPlace       // no node fits
	sick          // Ready, but the member never joins
	tardy         // comes up late, sometimes past the deadline
)

func memberID(i int) guard.ID { return guard.ID(0xe7cd0000 + 17*uint64(i+1)) }

func indexOf(id guard.ID) int {
	for i := range mostMembers {
		if memberID(i) == id {
			return i
		}
	}
	return noPod
}

func revisionName(r int) string {
	if r < 0 {
		return ""
	}
	return "rev-" + strconv.Itoa(r)
}

func uidName(uid int) string { return "uid-" + strconv.Itoa(uid) }
