package guard

import "time"

// Limits are the thresholds of the gates and the deadlines of the steps, as
// the configuration sets them. DefaultLimits has the documented defaults; the
// zero value is the strictest, not the laxest.
type Limits struct {
	Cooldown      time.Duration // a pod is Ready this long before the next step
	ReadyTimeout  time.Duration // from the step to Ready
	HealthTimeout time.Duration // from Ready to a healthy member
	ArmWindow     time.Duration // a release not acted on is taken back after this
	CallWindow    time.Duration // an announced call may be under way this long
	TermQuiet     time.Duration // no unexplained election for this long
	CandidateUp   time.Duration // a new leader has been up this long, if there is a choice
	SlowRead      time.Duration // a candidate whose read takes longer comes last

	MaxLag       uint64  // entries behind at which catching up is not waited for
	CatchUpRatio float64 // >0: accept this share of the leader's revision instead of its commit index
	HeadroomNote float64 // share of the quota that is worth a note
	HeadroomStop float64 // share of the quota that closes the gate
	MinGrace     time.Duration

	AllowDowntime  bool // one or two voters may be rolled
	AllowEphemeral bool // data need not be on a persistent volume

	Attempts         int // per pod and revision
	MoveTries        int // per candidate
	RevisionsPerHour int // abandoned targets before it counts as flapping
}

// DefaultLimits are the thresholds used when the configuration is silent.
func DefaultLimits() Limits {
	return Limits{
		Cooldown:         30 * time.Second,
		ReadyTimeout:     300 * time.Second,
		HealthTimeout:    60 * time.Second,
		ArmWindow:        10 * time.Second,
		CallWindow:       8 * time.Second,
		TermQuiet:        60 * time.Second,
		CandidateUp:      60 * time.Second,
		SlowRead:         100 * time.Millisecond,
		MaxLag:           5000,
		HeadroomNote:     0.85,
		HeadroomStop:     0.95,
		MinGrace:         10 * time.Second,
		Attempts:         3,
		MoveTries:        3,
		RevisionsPerHour: 10,
	}
}

// Soak is how long a pod must have been ready before the next step.
func (l Limits) Soak(minReady time.Duration) time.Duration { return max(l.Cooldown, minReady) }

// MoveCooldown is the rest a cluster gets after a leader move. A busy cluster
// renews its leases with the new leader meanwhile.
func (l Limits) MoveCooldown() time.Duration { return min(l.Cooldown, 5*time.Second) }
