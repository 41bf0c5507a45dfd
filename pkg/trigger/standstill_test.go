package trigger

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
)

func TestBlockedSetIsAskedAboutEverMoreSlowlyAndFromTheStartAfterAChange(t *testing.T) {
	w := newWorld(t)
	w.put(etcd, func(s *setState) { newTemplate("b")(s); s.set.Phase = events.PhaseBlocked })
	w.run(45 * time.Second)
	sum := func(steps ...float64) (at []time.Duration) {
		total := 0.0
		for _, step := range steps {
			total += step
			at = append(at, time.Duration(total*float64(time.Second)))
		}
		return at
	}
	near(t, w.times(etcd), sum(0, 2, 3, 4.5, 6.75, 10.125, 15.1875))
	w.forgetPosts()
	w.put(etcd, func(s *setState) { s.set.Override = "Headroom" })
	w.run(45*time.Second + 9500*time.Millisecond)
	near(t, w.times(etcd), []time.Duration{45 * time.Second, 47 * time.Second, 50 * time.Second, 54500 * time.Millisecond})
}

func near(t *testing.T, got, want []time.Duration) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b time.Duration) bool { return (a - b).Abs() < 2*time.Millisecond }) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestHaltedAndPausedSetsAreToldOfChangesOnly(t *testing.T) {
	for name, stand := range map[string]func(*setState){
		"halted": func(s *setState) { s.set.Phase, s.set.HaltedRevision = events.PhaseHalted, "b" },
		"paused": func(s *setState) { s.set.Paused = true },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answer = func(post) reply { return reply{status: http.StatusOK} }
			w.put(etcd, func(s *setState) { newTemplate("b")(s); stand(s) })
			w.run(time.Hour)
			w.wantTimes(etcd, 0)
			w.put(etcd, func(s *setState) { s.pods[2] = PodView{Index: 2, UID: "new", Revision: "b"} }) // deleted by hand
			w.run(2 * time.Hour)
			w.wantTimes(etcd, 0, time.Hour)
			w.put(etcd, func(s *setState) { s.set.Partition = 1 }) // somebody opens it
			w.run(2*time.Hour + 8*time.Second)
			if got := len(w.posts); got != 4 {
				t.Errorf("%d events, want one more at once and one at the next beat", got-2)
			}
		})
	}
}

func TestKN06_AChangeOfAHaltedSetIsToldThreeTimesWhileOnlyABrokerAnswers(t *testing.T) {
	w := newWorld(t) // the broker says 202 and may lose the event
	w.put(etcd, func(s *setState) { newTemplate("b")(s); s.set.Phase, s.set.HaltedRevision = events.PhaseHalted, "b" })
	w.run(time.Hour)
	w.wantTimes(etcd, 0, 2*time.Second, 5*time.Second)
}

func TestWantedResumeIsAskedForUntilItIsDone(t *testing.T) {
	w := newWorld(t)
	w.put(etcd, func(s *setState) {
		newTemplate("b")(s)
		s.set.Phase, s.set.HaltedRevision, s.set.HaltID, s.set.Resume = events.PhaseHalted, "b", "b-3", "b-3"
	})
	w.run(2 * beat)
	w.wantTimes(etcd, beats(3)...)
}

func TestRefusedEventIsNotRepeatedLikeALostOne(t *testing.T) {
	w := newWorld(t)
	w.answer = func(post) reply { return reply{status: http.StatusForbidden, text: "not opted in"} }
	w.put(etcd, newTemplate("b"))
	w.run(16 * time.Second)
	near(t, w.times(etcd), []time.Duration{0, 2 * time.Second, 5 * time.Second, 9500 * time.Millisecond})
	if w.trigger.Health.Ready() != "" {
		t.Error("the function's own refusal makes the trigger unready")
	}
}

func TestFunctionThatFindsNothingToDoIsAskedEverMoreSlowly(t *testing.T) {
	w := newWorld(t)
	w.answer = func(post) reply { return reply{status: http.StatusOK} }
	w.put(etcd, newTemplate("b"))
	w.run(10 * time.Minute)
	if got := len(w.posts); got < 10 || got > 25 {
		t.Errorf("%d events in ten minutes", got)
	}
	w.forgetPosts()
	w.put(etcd, func(s *setState) { s.pods[0].Terminating = true })
	w.run(10*time.Minute + 2*beat)
	w.wantTimes(etcd, 10*time.Minute, 10*time.Minute+beat, 10*time.Minute+2*beat)
}

func TestAStandstillHasItsOwnPaceFromTheStart(t *testing.T) {
	w := newWorld(t)
	w.put(etcd, newTemplate("b"))
	w.run(6 * beat)
	w.forgetPosts()
	w.put(etcd, func(s *setState) { s.set.Phase = events.PhaseBlocked }) // written by the function, after it had looked
	w.run(6*beat + 9500*time.Millisecond)
	near(t, w.times(etcd), []time.Duration{6*beat + 2*time.Second, 6*beat + 5*time.Second, 6*beat + 9500*time.Millisecond})
	w.forgetPosts()
	w.put(etcd, func(s *setState) { s.set.Phase, s.set.HaltedRevision = events.PhaseHalted, "b" })
	w.run(time.Hour)
	w.wantTimes(etcd)
}
