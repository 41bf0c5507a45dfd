package trigger

import (
	"net/http"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
)

const etcd = "prod/etcd"

// beat is the heartbeat of prod/etcd, as its name spreads it.
var beat = spread(etcd, 5*time.Second)

func beats(n int) (at []time.Duration) {
	for i := range n {
		at = append(at, time.Duration(i)*beat)
	}
	return at
}

func TestI10_IdleSetCostsNoEvent(t *testing.T) {
	w := newWorld(t)
	w.put(etcd, nil)
	w.put("prod/other", nil)
	for i := range 12 {
		w.run(time.Duration(i) * 5 * time.Minute)
		w.trigger.Sweep()
	}
	w.run(time.Hour)
	if len(w.posts) != 0 {
		t.Errorf("%d events about idle sets: %v", len(w.posts), w.posts)
	}
	w.sets[etcd].pods = podsAt("a", "a", "old") // a change that no watch has told of
	w.trigger.Sweep()
	w.run(2 * time.Hour)
	if len(w.posts) == 0 {
		t.Error("the sweep does not see what the cache holds")
	}
}

func TestActiveSetIsAskedAboutAtEachChangeAndHeartbeat(t *testing.T) {
	w := newWorld(t)
	w.put(etcd, newTemplate("b"))
	w.run(3 * beat)
	w.wantTimes(etcd, beats(4)...)
	ids := map[string]bool{}
	for _, p := range w.posts {
		ids[p.event.ID()] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d different ids in 4 requests", len(ids))
	}
	w.forgetPosts()
	change := 3*beat + time.Second
	w.run(change)
	w.put(etcd, func(s *setState) { s.pods[2].Terminating = true })
	w.run(change + beat)
	w.wantTimes(etcd, change, change+beat)
}

func TestBurstOfChangesGivesOneRequestPerGap(t *testing.T) {
	w := newWorld(t)
	w.put(etcd, newTemplate("b"))
	w.run(0)
	for i := range 10 {
		w.put(etcd, func(s *setState) { s.set.ReadyReplicas = int32(i) })
		w.run(time.Duration(i+1) * 10 * time.Millisecond)
	}
	w.run(time.Second)
	w.wantTimes(etcd, 0, 250*time.Millisecond)
}

func TestCG08_RelistIsNoEventStorm(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		w.put("prod/"+name, nil)
	}
	w.put("prod/halted", func(s *setState) {
		newTemplate("b")(s)
		s.set.Phase, s.set.HaltedRevision = events.PhaseHalted, "b"
	})
	w.answer = func(post) reply { return reply{status: http.StatusOK} }
	w.run(time.Minute)
	w.forgetPosts()
	for i := range 200 { // the watch breaks and relists again and again
		for key := range w.sets {
			w.Add(key)
			w.Add(key)
		}
		w.run(time.Minute + time.Duration(i)*time.Second)
	}
	if len(w.posts) != 0 {
		t.Errorf("%d events although nothing has changed", len(w.posts))
	}
	w.put(etcd, newTemplate("b"))
	for range 50 {
		w.Add(etcd)
	}
	w.run(4*time.Minute + 20*time.Second)
	w.forgetPosts()
	for range 50 {
		w.Add(etcd)
	}
	w.run(4*time.Minute + 20*time.Second + beat)
	if got := len(w.times(etcd)); got != 1 {
		t.Errorf("%d events in one beat of an active set", got)
	}
}

func TestUnacknowledgedRequestIsRepeatedUntilSomebodyHasIt(t *testing.T) {
	for name, failure := range map[string]reply{
		"connection cut": {cut: true}, "500": {status: 500}, "502": {status: 502}, "429": {status: 429}, "404": {status: 404},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(etcd, newTemplate("b"))
			w.answer = func(post) reply {
				if len(w.posts) <= 6 {
					return failure
				}
				return reply{status: http.StatusAccepted}
			}
			w.run(26 * time.Second)
			w.wantTimes(etcd, 0, 500*time.Millisecond, 1500*time.Millisecond, 3500*time.Millisecond, 7500*time.Millisecond,
				15500*time.Millisecond, 25500*time.Millisecond)
			for _, p := range w.posts {
				if p.event.ID() != w.posts[0].event.ID() {
					t.Error("a repeated request has another id")
				}
			}
			w.forgetPosts()
			w.run(25500*time.Millisecond + beat)
			w.wantTimes(etcd, 25500*time.Millisecond+beat) // after the acknowledgement it is the heartbeat again
		})
	}
}

func TestOneDeadDeliveryBlocksNoOtherSet(t *testing.T) {
	w := newWorld(t)
	w.put(etcd, newTemplate("b"))
	w.put("prod/other", newTemplate("b"))
	w.answer = func(p post) reply {
		return reply{cut: p.event.Subject() == etcd, status: http.StatusAccepted}
	}
	w.run(30 * time.Second)
	if got := len(w.times("prod/other")); got < 6 {
		t.Errorf("the other set was asked about %d times in 30 s", got)
	}
}

func TestKN09_RetryAfterIsHonouredAndBounded(t *testing.T) {
	w := newWorld(t)
	w.put(etcd, newTemplate("b"))
	w.answer = func(post) reply {
		switch len(w.posts) {
		case 1:
			return reply{status: http.StatusServiceUnavailable, retryAfter: "7"}
		case 2:
			return reply{status: http.StatusServiceUnavailable, retryAfter: "86400"}
		}
		return reply{status: http.StatusAccepted}
	}
	w.run(time.Second)
	w.put(etcd, func(s *setState) { s.pods[0].Terminating = true }) // a change is no reason to break the rest
	w.run(7*time.Second + 5*time.Minute)
	w.wantTimes(etcd, 0, 7*time.Second, 7*time.Second+5*time.Minute)
}

func TestForcedSetIsAskedAboutWhateverTheCacheSays(t *testing.T) {
	w := newWorld(t)
	w.put(etcd, nil)
	w.run(time.Minute)
	w.trigger.Force(etcd)
	w.run(time.Hour)
	w.wantTimes(etcd, time.Minute)
}

func TestSetThatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.answer = func(post) reply { return reply{cut: true} }
	w.put(etcd, newTemplate("b"))
	w.run(time.Second)
	if w.trigger.Health.Ready() == "" {
		t.Error("ready although the last POST failed")
	}
	delete(w.sets, etcd)
	w.Add(etcd)
	w.run(time.Hour)
	if got := len(w.trigger.Records()); got != 0 || w.trigger.Health.Ready() != "" {
		t.Errorf("%d records left, ready: %q", got, w.trigger.Health.Ready())
	}
	w.forgetPosts()
	w.run(2 * time.Hour)
	w.wantTimes(etcd)
}

func TestKN14_NotReadyWithoutSinkSyncOrAWorkingPost(t *testing.T) {
	h := &Health{}
	if h.Ready() == "" {
		t.Error("ready before the caches are filled")
	}
	h.Synced()
	if h.Ready() != "" || h.Alive() != "" {
		t.Errorf("not ready: %s %s", h.Ready(), h.Alive())
	}
	h.Posted("a", false, noon)
	if h.Ready() == "" {
		t.Error("ready although the last POST failed")
	}
	h.Posted("a", true, noon)
	if h.Ready() != "" {
		t.Error("not ready although the last POST worked")
	}
	h.Sick("pods", "the watch of pods makes no progress")
	h.Sick("statefulsets", "")
	if h.Alive() == "" || h.Ready() == "" {
		t.Error("alive although a watch makes no progress")
	}
	h.Sick("pods", "")
	h.NoSink(events.ErrNoSink.Error())
	if h.Ready() != events.ErrNoSink.Error() || h.Alive() != "" {
		t.Errorf("without a sink: ready %q, alive %q", h.Ready(), h.Alive())
	}
}
