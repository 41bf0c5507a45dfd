package trigger

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/etcdroll/etcdroll/pkg/events"
)

func TestContinuationIsDeliveredAtItsTimeAndIsTheVeryEventThatCameBack(t *testing.T) {
	w := newWorld(t)
	f := newRoller(w, 4, 1500*time.Millisecond)
	w.run(time.Minute)
	w.wantTimes(etcd, 0, 1500*time.Millisecond, 3*time.Second, 4500*time.Millisecond)
	for i, p := range w.posts[1:] {
		if p.req.Kind != events.KindContinue || p.req.Seq != int64(i+1) || p.event.Source() != events.SourceFunction {
			t.Errorf("hop %d: %+v", i+1, p.req)
		}
	}
	if trace := w.posts[0].req.Trace.Parent[:36]; w.posts[3].req.Trace.Parent[:36] != trace {
		t.Error("the trace is lost on the way")
	}
	if len(f.at) != 4 || w.trigger.Records()[0].Pending != nil {
		t.Errorf("steps at %v", f.at)
	}
}

func TestPendingContinuationCountsAsTheHeartbeat(t *testing.T) {
	w := newWorld(t)
	newRoller(w, 3, 4*time.Second)
	w.run(8 * time.Second)
	w.wantTimes(etcd, 0, 4*time.Second, 8*time.Second)
}

func TestLongPauseDoesNotSilenceTheHeartbeat(t *testing.T) {
	w := newWorld(t)
	w.answer = func(p post) reply {
		if p.req.Kind == events.KindContinue || len(w.posts) > 1 {
			return reply{status: http.StatusAccepted}
		}
		e := events.NewContinue(p.req.Target, 9, w.clock.Now(), w.clock.Now().Add(12*time.Second), &p.event)
		return reply{status: http.StatusOK, event: &e}
	}
	w.put(etcd, newTemplate("b"))
	w.run(12 * time.Second)
	w.wantTimes(etcd, 0, beat, 2*beat, 12*time.Second)
}

func TestDuplicateAndStaleContinuationsAreDropped(t *testing.T) {
	w := newWorld(t)
	w.answer = func(p post) reply { // every answer carries the same continuation
		e := events.NewContinue(p.req.Target, 9, w.clock.Now(), noon.Add(3*time.Second), &p.event)
		return reply{status: http.StatusOK, event: &e}
	}
	w.put(etcd, newTemplate("b"))
	w.run(time.Second)
	w.put(etcd, func(s *setState) { s.pods[0].Terminating = true })
	w.run(2900 * time.Millisecond)
	w.wantTimes(etcd, 0, time.Second)
	w.answer = nil
	w.run(3 * time.Second)
	w.wantTimes(etcd, 0, time.Second, 3*time.Second)
	if w.posts[2].req.Kind != events.KindContinue {
		t.Error("the continuation was not delivered")
	}

	w.forgetPosts()
	w.answer = func(p post) reply {
		e := events.NewContinue(p.req.Target, 9, w.clock.Now(), w.clock.Now().Add(2*time.Second), &p.event)
		return reply{status: http.StatusOK, event: &e}
	}
	w.run(3*time.Second + beat)
	w.put(etcd, func(s *setState) { s.set.Seq = 10 }) // another chain was faster
	w.answer = nil
	w.run(3*time.Second + 2*beat)
	for _, p := range w.posts {
		if p.req.Kind == events.KindContinue {
			t.Error("a continuation was delivered whose step was taken already")
		}
	}
}

func TestContinuationOfAnotherSetIsNotBelieved(t *testing.T) {
	w := newWorld(t)
	w.answer = func(p post) reply {
		e := events.NewContinue(events.Target{Namespace: "kube-system", Name: "etcd"}, 9, w.clock.Now(), w.clock.Now(), &p.event)
		return reply{status: http.StatusOK, event: &e}
	}
	w.put(etcd, newTemplate("b"))
	w.run(time.Second)
	w.wantTimes(etcd, 0)
}

func TestFactInAReplyIsCountedAndNotDelivered(t *testing.T) {
	w := newWorld(t)
	w.answer = func(p post) reply {
		e := events.NewFact(p.req.Target, events.Blocked{Reason: "GatesClosed"}, w.clock.Now(), &p.event)
		return reply{status: http.StatusOK, event: &e}
	}
	w.put(etcd, newTemplate("b"))
	w.run(time.Second)
	w.wantTimes(etcd, 0)
	if got := metric(t, w.trigger.Metrics, "etcdroll_events_received_total", "blocked"); got != 1 {
		t.Errorf("%v facts counted", got)
	}
}

// TestKN01_ChainCutAtAnyHopIsHealedByTheHeartbeat cuts the chain once, at each hop in turn and in each way, and wants
// the roll to end no later than one heartbeat (or one retry) after an uncut one.
func TestKN01_ChainCutAtAnyHopIsHealedByTheHeartbeat(t *testing.T) {
	const steps = 12
	pause := 500 * time.Millisecond
	uncut := time.Duration(steps-1) * pause
	for _, lost := range []loss{theRequest, theReply, theConnection} {
		for hop := 1; hop <= steps; hop++ {
			t.Run(fmt.Sprintf("loss %d at hop %d", lost, hop), func(t *testing.T) {
				w := newWorld(t)
				f := newRoller(w, steps, pause)
				f.lose = func(n int) loss {
					if n == hop {
						return lost
					}
					return nothing
				}
				w.run(uncut + beat)
				if len(f.at) != steps {
					t.Errorf("%d steps taken by %s, at %v", len(f.at), uncut+beat, f.at)
				}
				w.forgetPosts()
				w.run(time.Hour)
				w.wantTimes(etcd)
			})
		}
	}
}

func TestKN05_RollSurvivesTheLossOfEveryOtherEvent(t *testing.T) {
	for _, lost := range []loss{theRequest, theReply, theConnection} {
		w := newWorld(t)
		f := newRoller(w, 12, time.Second)
		f.lose = func(n int) loss {
			if n%2 == 0 {
				return lost
			}
			return nothing
		}
		w.run(2 * time.Minute)
		if len(f.at) != 12 {
			t.Errorf("loss %d: %d steps in two minutes", lost, len(f.at))
		}
	}
}

func TestI5_RollEndsUnderAnyLossAndAnyRestart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		defer w.sink.Close()
		f := newRoller(w, 6, time.Duration(rapid.IntRange(0, 8).Draw(rt, "pause"))*time.Second)
		losses := rapid.SliceOfN(rapid.SampledFrom([]loss{nothing, theRequest, theReply, theConnection}), 0, 10).Draw(rt, "losses")
		f.lose = func(n int) loss {
			if n <= len(losses) {
				return losses[n-1]
			}
			return nothing
		}
		for range rapid.IntRange(0, 3).Draw(rt, "restarts") {
			w.run(w.clock.Now().Sub(noon) + time.Duration(rapid.IntRange(0, 9000).Draw(rt, "ms"))*time.Millisecond)
			w.restart()
		}
		faultsOver := w.clock.Now().Sub(noon)
		w.run(faultsOver + 16*10*time.Second) // a heartbeat or the longest retry for each loss and each step
		if len(f.at) != 6 {
			rt.Fatalf("%d of 6 steps", len(f.at))
		}
	})
}

func TestTriggerRestartedMidRollGoesOn(t *testing.T) {
	w := newWorld(t)
	f := newRoller(w, 5, time.Second)
	w.run(2500 * time.Millisecond)
	w.restart()
	w.run(10 * time.Second)
	if len(f.at) != 5 {
		t.Errorf("steps at %v", f.at)
	}
}
