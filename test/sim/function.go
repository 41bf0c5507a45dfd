package sim

import (
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// phase is where a function is in its run. Between any two phases it may be
// killed or held up for any time.
type phase uint8

const (
	idle phase = iota
	readSet
	readPods
	readRest // the other half of the pods
	decideFirst
	probeMembers
	probeRest // the other half of a probe that took its time
	decideAgain
	lastQuestion
	lastLook
	writing
	acting
	answering
)

// function is one instance of the function and the run it is in.
type function struct {
	phase   phase
	wakeAt  int
	ask     roll.Ask
	retries int

	set      set
	pods     [mostMembers]pod
	readAt   int // when the set was read
	nowAt    int // the Now of the observation: when the set was read, or the members had answered
	podsAt   int
	truly    bool // nothing it read was out of the past
	obs      roll.Observed
	led      [mostMembers]bool // whether i led, in truth, when it was asked
	asked    [mostMembers]bool
	well     [mostMembers]bool // whether i was well, in truth, when it was asked
	going    [mostMembers]bool // whether pod i was on its way out, in truth, when its member was asked
	written  bool              // the announcing write was accepted
	decision roll.Decision
	seq      int64
}

func (w *world) awake(f *function, ask roll.Ask) {
	*f = function{phase: readSet, ask: ask, wakeAt: w.tick + 1}
}

// functionTurn runs a function until it is done, held up or dead.
func (w *world) functionTurn(f *function) {
	if f.phase == idle || w.tick < f.wakeAt {
		return
	}
	for {
		w.perform(f)
		if f.phase == idle || w.tick < f.wakeAt {
			return
		}
		if w.goes(killFunction) {
			w.tellIf("the function is killed")
			f.phase = idle
			return
		}
		if w.goes(pauseFunction) {
			f.wakeAt = w.tick + w.heldUp()
			return
		}
	}
}

func (w *world) heldUp() int {
	if w.chance(0.8) {
		return w.between(1, 3)
	}
	return w.between(3, 60)
}

// overtime says that the run has used up the time in which it may still
// change anything. It is counted from the Now that the record has as the
// start of its step, so that a call is over when the record says so.
func (w *world) overtime(f *function) bool {
	return w.tick-f.nowAt >= ticksOf(w.limits.CallWindow)
}

func (w *world) perform(f *function) {
	switch f.phase {
	case readSet:
		w.readSet(f)
	case readPods, readRest:
		w.readPods(f)
	case decideFirst:
		w.decideFirst(f)
	case probeMembers, probeRest:
		w.probe(f)
	case decideAgain:
		w.decideAgain(f)
	case lastQuestion:
		w.lastQuestion(f)
	case lastLook:
		w.lastLook(f)
	case writing:
		w.write(f)
	case acting:
		w.act(f)
	case answering:
		w.answer(f)
	}
}

func (w *world) decideFirst(f *function) {
	f.decision = w.next(f.obs)
	if !f.decision.Wants.Any() || w.goes(hastyCaller) {
		w.settle(f)
		return
	}
	f.phase = decideAgain
	if f.decision.Wants.MayDelete {
		f.obs.MayDelete = w.mayDeletePods()
	}
	if f.decision.Wants.Members {
		f.phase = probeMembers
	}
}

func (w *world) mayDeletePods() guard.Answer {
	if w.mayDelete {
		return guard.Yes
	}
	return guard.No
}

func (w *world) decideAgain(f *function) {
	f.decision = w.next(f.obs)
	if f.decision.Wants.MayDelete && f.obs.MayDelete == guard.Unknown {
		f.obs.MayDelete = w.mayDeletePods()
		f.decision = w.next(f.obs)
	}
	w.settle(f)
}

// settle takes the decision as final and turns to what it asks for.
func (w *world) settle(f *function) {
	w.seen.final(f.decision)
	w.judgeDecision(f)
	d := f.decision
	f.seq = f.obs.Record.Seq
	switch {
	case d.Write == nil && d.Effect.Kind == roll.NoEffect:
		f.phase = answering
	case d.Disruption() == 2:
		f.phase = lastQuestion
	case d.TakesBack():
		f.phase = lastLook
	case d.Write == nil:
		f.phase = acting
	default:
		f.phase = writing
	}
	if w.telling() {
		w.tellDecision(f)
	}
}

// lastQuestion asks the victim whether it leads, last thing before its pod is
// given up, and once more before a delete that had to be announced.
func (w *world) lastQuestion(f *function) {
	v := f.decision.Victim
	f.phase = writing
	if f.written || f.decision.Write == nil {
		f.phase = acting
	}
	silent := !w.members[v].up() || w.goes(flakyProbe)
	if w.n() == 1 || w.unasked || silent && !f.obs.Member(v).Reached {
		return // nobody to hand over to, or known to be away when the gates were asked
	}
	f.led[v], f.asked[v] = w.leader == v, true
	if f.led[v] || silent {
		w.tellIf("the victim says that it leads, or nothing: no step")
		f.phase = idle
		w.send(roll.Ask{}, 4)
	}
}

// lastLook reads a released pod again before its release is taken back.
func (w *world) lastLook(f *function) {
	f.phase = writing
	if i := f.decision.Victim; !w.unlooked && f.gone(w, i) {
		w.tellIf("the released pod went after all: looked at anew")
		f.phase = idle
		w.send(roll.Ask{}, 1)
	}
}

// gone says that the pod that f read is terminating or no more.
func (f *function) gone(w *world, i int) bool {
	p := &w.pods[i]
	return !p.exists || p.terminating || p.uid != f.pods[i].uid
}

func (w *world) answer(f *function) {
	d := f.decision
	f.phase = idle
	switch d.Outcome {
	case roll.Stepped, roll.Waiting, roll.Blocked:
		w.send(roll.Ask{Kind: roll.Continue, Seq: f.seq}, max(1, ticksOf(d.After)))
	}
}
