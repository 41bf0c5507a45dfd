package sim

import (
	"time"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// tickLength is how much simulated time one tick takes.
const tickLength = 250 * time.Millisecond

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// frame is the API server's content at the end of a tick.
type frame struct {
	set  set
	pods [mostMembers]pod
}

// frames are kept for readers of the past.
const frames = 64

// world is everything there is, advanced one tick at a time.
type world struct {
	dice
	profile
	seed  uint64
	tick  int
	rough bool // faults may happen
	decide
	tale *tale
	seen *coverage

	set     set
	pods    [mostMembers]pod
	members [mostMembers]member
	past    [frames]frame
	nextUID int

	leader     int
	term       uint64
	commit     uint64
	electionAt int
	late       lateTransfer

	traits    []trait
	nodeBack  [mostMembers]int // when a lost node returns; 0 when it is there
	weather   weather
	control   controller
	functions [3]function
	channel   channel
	watcher   watcher
	ledger    ledger
	visits    int // events that a function was given
}

// decide is what is under test: the decision, and how its write is made.
// Mutants replace parts of it.
type decide struct {
	next        func(roll.Observed) roll.Decision
	unfenced    bool            // write whatever the resourceVersion
	unasked     bool            // skip the last question before a release
	unlooked    bool            // skip the last look before a release is taken back
	unannounced bool            // make the call although the announcing write lost
	untimed     bool            // make the call however late
	skip        map[string]bool // invariants not judged
	shape       func(*profile)  // narrows the worlds that are walked
}

func theProduct() decide { return decide{next: roll.Next} }

func newWorld(seed uint64, what decide) *world {
	w := &world{dice: newDice(seed), seed: seed, decide: what, seen: newCoverage()}
	w.profile = newProfile(w.dice)
	if what.shape != nil {
		what.shape(&w.profile)
	}
	w.leader, w.late.due = noPod, never
	w.traits = []trait{good, good}
	w.weather.until = 0
	w.beginSet()
	w.beginPods()
	w.ledger.firstLeader, w.ledger.firstTerm = w.leader, w.term
	w.keepFrame()
	return w
}

func (w *world) n() int { return w.set.replicas }

func (w *world) beginSet() {
	w.set = set{
		rv: 1, gen: 1, seenGen: 1, replicas: w.replicas, partition: w.replicas,
		maxUnavailable: 1, managed: true, current: 0, update: 0, release: "r0",
	}
	switch w.begin {
	case convergedSet:
		w.set.record = &roll.Record{UID: setUID, Seq: 4, Target: revisionName(0), Generation: 1, Done: true}
		w.set.status = roll.Status{Phase: roll.PhaseConverged, ConvergedRevision: revisionName(0), ConvergedToken: "r0"}
	case adoptedLocked:
		w.set.partition += 2 * w.IntN(2) // more than enough is locked too
	case adoptedOpen:
		w.set.partition = 0
	case halfRolled:
		w.set.partition, w.set.template, w.set.update = w.IntN(w.replicas), 1, 1
	case greenfield:
		w.set.current, w.set.update, w.set.seenGen = noRevision, noRevision, 0
	}
	if w.strategy == guard.OnDelete {
		w.set.partition = w.replicas // read as 0 and never used; kept locked for the model
	}
	if w.set.open() {
		w.set.episode = &episode{index: w.set.partition}
	}
}

func (w *world) beginPods() {
	w.commit = 10_000
	for i := range w.n() {
		w.members[i] = member{leader: noPod}
		if w.begin == greenfield {
			continue
		}
		w.nextUID++
		w.pods[i] = pod{
			exists: true, running: true, ready: true, uid: w.nextUID, rv: 1, stopAt: never, goneAt: never,
			created: -400, started: -390, readyChange: -380, runAt: -390, joinAt: -385, readyAt: -380,
		}
		if w.begin == halfRolled && i >= w.set.partition && w.chance(0.5) {
			w.pods[i].revision = 1
		}
		w.members[i].process = true
	}
	if w.begin != greenfield {
		w.crown(w.IntN(w.n()))
		for i := range w.n() {
			w.members[i].leader, w.members[i].term = w.leader, w.term
		}
		n := w.n()
		w.set.counted, w.set.ready, w.set.available, w.set.updated, w.set.olden = n, n, n, n, n
	}
}

// step lets a quarter of a second pass. Who acts first is a matter of chance.
func (w *world) step() {
	w.tick++
	w.blow()
	w.kubelet()
	w.etcd()
	first := w.IntN(3)
	for k := range 3 {
		switch (first + k) % 3 {
		case 0:
			w.controllerTurn()
		case 1:
			for i := range w.profile.functions {
				w.functionTurn(&w.functions[i])
			}
		default:
			w.humans()
		}
	}
	w.watch()
	w.deliver()
	w.keepFrame()
	w.inspect()
}

func (w *world) keepFrame() { w.past[w.tick%frames] = frame{w.set, w.pods} }

// goes says whether a fault happens now.
func (w *world) goes(f fault) bool { return w.rough && w.chance(w.rates[f]) }

func (w *world) at(tick int) time.Time {
	return epoch.Add(time.Duration(tick) * tickLength)
}

// stamp is a time as Kubernetes writes it: whole seconds.
func (w *world) stamp(tick int) time.Time { return w.at(tick).Truncate(time.Second) }

func ticksOf(d time.Duration) int { return int((d + tickLength - 1) / tickLength) }

func (w *world) ours() *roll.Record {
	if w.set.record == nil {
		return &roll.Record{}
	}
	return w.set.record
}
