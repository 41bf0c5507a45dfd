package e2e

import (
	"testing"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/relay"
)

// The function dies by SIGKILL before or after each write, and before or after
// each leader move, at every other pass: the odd ones in one roll, the even ones
// in another. Leadership starts where two moves are needed.
func TestKN12_TheFunctionIsKilledAroundEveryEffect(t *testing.T) {
	for _, death := range []struct{ at, every string }{
		{"before-write", "odd"}, {"before-write", "even"}, {"after-write", "odd"}, {"after-write", "even"},
		{"before-effect", "odd"}, {"after-effect", "odd"},
	} {
		t.Run(death.at+", "+death.every, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, quick())
			place := s.install(false)
			function := s.part(place.Chaos(death.at, death.every))
			s.part(place.Trigger(function.URL, "--leader-elect=false"))
			s.settled()
			s.leaderAt(2)
			before := function.Deaths()
			s.start(etcdset.ToVersion("3.7.3"))
			r := s.happy()
			if r.Planned != 2 {
				t.Errorf("%d moves, want 2; announced were %+v", r.Planned, r.Announced)
			}
			if n := function.Deaths() - before; n == 0 {
				t.Error("the function never died")
			} else {
				t.Logf("the function died %d times", n)
			}
		})
	}
}

// Two functions, each with a trigger of its own and no lease between them.
func TestKN11_TwoFunctionsAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, quick())
	place := s.install(false)
	for range 2 {
		function := s.part(place.Function())
		s.part(place.Trigger(function.URL, "--leader-elect=false"))
	}
	s.settled()
	s.leaderAt(2)
	s.start(etcdset.ToVersion("3.7.3"))
	moves(t, s.happy(), 2)
}

// throughRelay rolls with a relay between the trigger and the function.
func throughRelay(t *testing.T, policy relay.Policy) (observer.Report, []relay.Event) {
	t.Helper()
	s := newStage(t, quick())
	place := s.install(false)
	function := s.part(place.Function())
	between, err := relay.Start(function.URL, policy)
	s.must(err)
	t.Cleanup(between.Stop)
	s.part(place.Trigger(between.URL, "--leader-elect=false"))
	s.settled()
	s.leaderAt(2)
	before := len(between.Events())
	s.start(etcdset.ToVersion("3.7.3"))
	r := s.happy()
	moves(t, r, 2)
	return r, between.Events()[before:]
}

func TestKN04_EveryEventArrivesThreeTimes(t *testing.T) {
	t.Parallel()
	r, events := throughRelay(t, relay.ThreeOfEach)
	for _, e := range events {
		if e.Fate.Copies != 3 {
			t.Fatalf("not tripled: %+v", e)
		}
	}
	// Of three copies of an event at most one takes a step.
	if len(events) < r.Steps {
		t.Errorf("%d steps from %d events", r.Steps, len(events))
	}
}

func TestKN05_EverySecondEventIsLost(t *testing.T) {
	t.Parallel()
	_, events := throughRelay(t, relay.EverySecond)
	lost := 0
	for _, e := range events {
		if e.Fate.Lost {
			lost++
		}
	}
	if lost < 3 {
		t.Errorf("only %d of %d events were lost", lost, len(events))
	}
}

func TestKN08_EventsComeLateOutOfOrderAndThreeTimes(t *testing.T) {
	t.Parallel()
	throughRelay(t, relay.LateAndTripled)
}

// The trigger is killed while the set is open and once more while it is locked.
// Its successor has to wait for the lease of the dead one, as in production.
func TestTheTriggerIsRestartedInMidRoll(t *testing.T) {
	t.Parallel()
	s := newStage(t, quick())
	place := s.install(false)
	function := s.part(place.Function())
	trigger := s.part(place.Trigger(function.URL))
	s.settled()
	s.leaderAt(1)
	s.start(etcdset.ToVersion("3.7.3"))
	s.must(s.observer.UntilSeen(s.ctx, rollsWithin, "the set was never open", func(s observer.SetState) bool { return !s.Locked() }))
	trigger.Kill()
	s.must(trigger.Start())
	s.relocked(1)
	trigger.Kill()
	s.must(trigger.Start())
	moves(t, s.happy(), 1)
}
