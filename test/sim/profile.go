package sim

import (
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// fault is one kind of trouble the world can make.
type fault uint8

const (
	dropEvent fault = iota
	doubleEvent
	delayEvent
	killFunction
	pauseFunction
	staleRead
	loseResponse
	flakyProbe
	splitProbe
	hastyCaller
	evictPod
	failPod
	loseNode
	restartContainer
	driftLeader
	failMove
	lateMove
	stopController
	lagController
	stallController
	changeTemplate
	humanPause
	foreignLock
	foreignOpen
	loseRecord
	oddWeather
	faultKinds
)

// usual is how likely each fault is: per tick for what happens in the world,
// per occasion for what goes wrong with a call or an event.
var usual = [faultKinds]float64{
	dropEvent: 0.2, doubleEvent: 0.15, delayEvent: 0.25,
	killFunction: 0.03, pauseFunction: 0.12, staleRead: 0.03, loseResponse: 0.04,
	flakyProbe: 0.03, splitProbe: 0.15, hastyCaller: 0.1,
	evictPod: 0.005, failPod: 0.002, loseNode: 0.001, restartContainer: 0.003,
	driftLeader: 0.01, failMove: 0.35, lateMove: 0.2,
	stopController: 0.004, lagController: 0.3, stallController: 0.05,
	changeTemplate: 0.006, humanPause: 0.002, foreignLock: 0.006, foreignOpen: 0.001, loseRecord: 0.001,
	oddWeather: 0.003,
}

// beginning is the state a walk starts from.
type beginning uint8

const (
	convergedSet  beginning = iota // rolled before, idle
	adoptedLocked                  // never rolled by us, idle, locked
	adoptedOpen                    // never rolled by us, idle, open
	halfRolled                     // adopted in mid-roll, open
	greenfield                     // no pod yet, locked
	beginnings
)

// profile is what distinguishes one walk from another.
type profile struct {
	replicas   int
	strategy   guard.Strategy
	management guard.Management
	budgeted   bool // the controller counts unavailable pods (MaxUnavailableStatefulSet)
	fenced     bool // the admission policy guards template and partition
	mayDelete  bool
	functions  int
	begin      beginning
	calm       bool // nothing goes wrong and the template is good
	coarse     bool // the clock we are told has whole seconds
	stored     bool // the record goes through JSON, as in the annotation
	skewed     bool // API servers disagree about the time by up to two seconds, half the call window
	overridden bool // somebody overrides the soft gates
	minReady   time.Duration
	slowness   int // scales how long pods take
	limits     guard.Limits
	rough      int // ticks with faults, before the fault-free tail
	rates      [faultKinds]float64
}

// simulated limits keep the proportions of the defaults at about a tenth of
// their length, so that a walk of minutes sees many steps.
func simulatedLimits() guard.Limits {
	l := guard.DefaultLimits()
	l.Cooldown = 3 * time.Second
	l.ReadyTimeout = 30 * time.Second
	l.HealthTimeout = 8 * time.Second
	l.ArmWindow = 5 * time.Second
	l.CallWindow = 4 * time.Second
	l.TermQuiet = 4 * time.Second
	l.CandidateUp = 6 * time.Second
	return l
}

func newProfile(d dice) profile {
	p := profile{
		replicas:   [...]int{3, 3, 3, 5, 5, 1}[d.IntN(6)],
		strategy:   guard.RollingUpdate,
		management: guard.OrderedReady,
		budgeted:   d.chance(0.6),
		fenced:     d.chance(0.6),
		mayDelete:  d.chance(0.8),
		functions:  d.between(1, 3),
		begin:      [...]beginning{convergedSet, convergedSet, convergedSet, adoptedLocked, adoptedOpen, halfRolled, greenfield}[d.IntN(7)],
		calm:       d.chance(0.08),
		coarse:     d.chance(0.5),
		stored:     d.chance(0.03),
		skewed:     d.chance(0.15),
		overridden: d.chance(0.1),
		slowness:   d.between(1, 3),
		limits:     simulatedLimits(),
		rough:      d.between(150, 450),
	}
	if d.chance(0.15) {
		p.strategy = guard.OnDelete
	}
	if d.chance(0.4) {
		p.management = guard.Parallel
	}
	if d.chance(0.2) {
		p.minReady = 5 * time.Second
	}
	p.limits.AllowDowntime = p.replicas == 1
	if d.chance(0.1) {
		p.limits.RevisionsPerHour = 3
	}
	p.rates = p.drawRates(d)
	return p
}

// drawRates turns each fault off in half of the walks, so that every fault is
// also met without the others, and varies the strength of the rest.
func (p profile) drawRates(d dice) [faultKinds]float64 {
	var rates [faultKinds]float64
	if p.calm {
		return rates
	}
	for f := range faultKinds {
		if strength := [...]float64{0, 0, 0.4, 1, 1, 2.5}[d.IntN(6)]; strength > 0 {
			rates[f] = min(0.85, usual[f]*strength)
		}
	}
	return rates
}
