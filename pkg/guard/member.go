package guard

import "time"

// Peer is one entry of a member list.
type Peer struct {
	ID      ID
	Name    string // empty until the member has started once
	Learner bool
}

// Sample is a reading of a member's progress at one moment.
type Sample struct {
	Applied  uint64
	Revision int64
}

// Problem is the kind of failure when a member was asked.
type Problem uint8

// The problems a probe tells apart.
const (
	NoProblem Problem = iota
	Unreachable
	TimedOut
	CertificateRefused
	Unauthenticated // wrong or missing user, password or certificate name
	PermissionDenied
	OtherProblem
)

// Member is what one etcd member said over a connection of its own. The zero
// value is a member that did not answer.
type Member struct {
	Reached bool
	Problem Problem
	Detail  string // which call failed and how, in etcd's words

	ID      ID
	Cluster ID
	Leader  ID // as this member sees it; 0 when it sees none
	Term    uint64
	Learner bool
	Version string

	First, Last Sample        // two readings, First before Last
	Read        Answer        // one linearizable read
	ReadTook    time.Duration // how long that read took

	Peers []Peer // this member's own view; nil when it could not be read

	DBSize int64 // bytes
	Quota  int64 // bytes; 0 when the member does not tell (before 3.6)

	DowngradeTo string // minor version of an enabled downgrade, "" when none
	Faults      []string
}

// AlarmKind is the type of an etcd alarm.
type AlarmKind uint8

// The alarm kinds. Any kind not known here counts as AlarmOther.
const (
	AlarmOther AlarmKind = iota
	AlarmNoSpace
	AlarmCorrupt
)

// Alarm is one raised alarm.
type Alarm struct {
	Member ID
	Kind   AlarmKind
	Text   string
}
