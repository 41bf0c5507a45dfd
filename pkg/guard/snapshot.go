package guard

import (
	"strconv"
	"time"
)

// Answer is a reading that may be missing. The zero value is Unknown, and
// Unknown is never treated as Yes.
type Answer uint8

// The three values of an Answer.
const (
	Unknown Answer = iota
	No
	Yes
)

// ID is an etcd member or cluster id. Its text form is lower-case hex, since
// JSON readers lose the low bits of a 64-bit number.
type ID uint64

// String gives the id as etcdctl prints it.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 16) }

// MarshalText makes the id a hex string in JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the hex form.
func (id *ID) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 16, 64)
	*id = ID(v)
	return err
}

// Strategy is the update strategy of the StatefulSet.
type Strategy uint8

// The strategies; the zero value is supported by no gate.
const (
	StrategyUnknown Strategy = iota
	RollingUpdate
	OnDelete
)

// Management is the pod management policy of the StatefulSet.
type Management uint8

// The policies; the zero value is supported by no gate.
const (
	ManagementUnknown Management = iota
	OrderedReady
	Parallel
)

// Set is the StatefulSet, reduced to what decides. Indexes count from zero
// whatever the first ordinal is, as partition does.
type Set struct {
	Namespace, Name string
	UID             string
	Managed         bool // carries the opt-in label
	Deleting        bool

	Generation, ObservedGeneration int64 // status is trusted only when equal

	Strategy       Strategy
	Management     Management
	MaxUnavailable int // resolved to a number; 1 when unset; 0 when it cannot be resolved
	Replicas       int // as wanted
	StatusReplicas int // pods the controller counts; more than wanted means scaling down
	Partition      int // 0 when unset
	FirstOrdinal   int
	MinReady       time.Duration

	CurrentRevision, UpdateRevision string
}

// Open says that the controller may replace outdated pods by itself.
func (s Set) Open() bool { return s.Strategy == RollingUpdate && s.Partition < s.Replicas }

// StatusCurrent says that status speaks about this spec.
func (s Set) StatusCurrent() bool {
	return s.Generation > 0 && s.ObservedGeneration == s.Generation && s.UpdateRevision != ""
}

// Indexes is how many pods there are to look at. Pods beyond MaxReplicas are
// never read, and a typo of 900000000 must not cost as many turns.
func (s Set) Indexes() int { return min(s.Replicas, MaxReplicas) }

// PodName is the name of the pod at index i.
func (s Set) PodName(i int) string { return s.Name + "-" + strconv.Itoa(i+s.FirstOrdinal) }

// Pod is one pod of the set as the API server shows it. The zero value is a
// pod that does not exist.
type Pod struct {
	Exists      bool
	UID         string
	Owned       bool   // its controller owner is this very set (by UID)
	Revision    string // label controller-revision-hash
	Terminating bool
	Ready       bool // Running, and condition Ready is true

	ReadyChanged time.Time // last transition of condition Ready
	Started      time.Time // start of the etcd container now running
	Created      time.Time
	Node         string

	Trouble Trouble
	Detail  string // the cluster's own words for the trouble
}

// Usable says that the pod counts as up for Kubernetes: a terminating pod
// still shows Ready in status and is not.
func (p Pod) Usable() bool { return p.Exists && p.Owned && !p.Terminating && p.Ready }

// UpSince is when the pod was last seen to become ready with the process it
// runs now; a restarted container starts the clock anew. No pod was up before
// it was created: that stamp is the API server's own, and it bounds those of a
// node whose clock is behind.
func (p Pod) UpSince() time.Time {
	since := p.ReadyChanged
	for _, later := range []time.Time{p.Started, p.Created} {
		if later.After(since) {
			since = later
		}
	}
	return since
}

// Trouble is why a pod that is not ready will not become so by waiting.
type Trouble uint8

// The troubles the function tells apart.
const (
	NoTrouble     Trouble = iota
	CrashLoop             // CrashLoopBackOff, or terminated and restarting
	ImageTrouble          // ErrImagePull, ImagePullBackOff, InvalidImageName
	Unschedulable         // PodScheduled is False
	ConfigTrouble         // CreateContainerConfigError and kin
)

// Budget is what the PodDisruptionBudgets that select the pods allow.
type Budget struct {
	Read    Answer // No: the right to list them is missing
	Found   bool
	Name    string
	Allowed int
}

// Storage says where the data directory lives.
type Storage uint8

// The kinds of storage.
const (
	StorageUnknown Storage = iota
	Persistent
	Ephemeral
)

// Template is what the pod template tells before any pod is touched.
type Template struct {
	Data          Storage
	Grace         time.Duration // terminationGracePeriodSeconds
	RemovesMember bool          // a preStop hook runs a member removal
	Flags         []string      // names of etcd flags, without dashes
	Version       string        // parsed from the image tag; "" when it does not parse
	QuotaBytes    int64         // from arguments or environment; 0 when not set
}

// Baseline is what the roll remembers about the cluster it began with.
type Baseline struct {
	Cluster     ID
	Members     map[int]ID // member id by index
	UnplannedAt time.Time  // when the last unexplained election was noticed
}

// Override lets one soft gate be ignored for one target revision.
type Override struct {
	Gate     Gate
	Revision string
	Until    time.Time
	Reason   string
}

// Snapshot is everything the gates look at, read live.
type Snapshot struct {
	Now     time.Time // the API server's clock
	Set     Set
	Pods    []Pod // by index
	Probed  bool  // Members, Commit and Alarms were asked for
	Members []Member
	Commit  uint64 // the leader's commit index, read before any Last sample; 0 unknown

	AlarmsRead Answer
	Alarms     []Alarm
	Auth       Answer // authentication is enabled in etcd
	Budget     Budget
	Template   Template
	Baseline   Baseline
	Limits     Limits
	Overrides  []Override
}

// Pod gives the pod at index i, the zero Pod when it was not read.
func (s Snapshot) Pod(i int) Pod {
	if i < 0 || i >= len(s.Pods) {
		return Pod{}
	}
	return s.Pods[i]
}

// Member gives the member at index i, the zero Member when it was not read.
func (s Snapshot) Member(i int) Member {
	if i < 0 || i >= len(s.Members) {
		return Member{}
	}
	return s.Members[i]
}

// LeaderIndex is the index of the pod whose member leads by its own word and
// by the word of every other member that answered; -1 when that is not known,
// as when two pods answer as that member.
func (s Snapshot) LeaderIndex() int {
	leader, found := ID(0), -1
	for i, m := range s.Members {
		if !m.Reached {
			continue
		}
		if m.Leader == 0 || (leader != 0 && m.Leader != leader) {
			return -1
		}
		leader = m.Leader
		if m.ID == m.Leader {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// AgreedTerm is the raft term when every member that answered names the same
// one; 0 otherwise.
func (s Snapshot) AgreedTerm() uint64 {
	term := uint64(0)
	for _, m := range s.Members {
		if !m.Reached {
			continue
		}
		if term != 0 && m.Term != term {
			return 0
		}
		term = m.Term
	}
	return term
}

// MaxReplicas bounds what etcdroll drives. etcd advises seven members; nine
// leave room, and a typo of 900 must not cost 900 connections.
const MaxReplicas = 9
