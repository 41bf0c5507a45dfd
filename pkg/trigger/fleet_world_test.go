package trigger

import (
	"net/http"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
)

func TestSS29_EverySetDivergesAtOnceAndOneRollsAtATime(t *testing.T) {
	w := newWorld(t)
	w.trigger.Limits.MaxRolling = 1
	for _, name := range []string{"a", "b", "c"} {
		w.put("prod/"+name, newTemplate("b"))
	}
	w.run(time.Second)
	if w.times("prod/b") != nil || w.times("prod/c") != nil || len(w.times("prod/a")) != 1 {
		t.Fatalf("asked about %v", w.posts)
	}
	w.put("prod/a", func(s *setState) { s.set.Phase = events.PhaseRolling })
	w.run(time.Minute)
	if w.times("prod/b") != nil || w.times("prod/c") != nil {
		t.Error("another set was let start while one rolls")
	}
	w.put("prod/c", func(s *setState) { s.set.Partition = 0 }) // waits, but must be locked
	w.run(2 * time.Minute)
	if w.times("prod/b") != nil || w.times("prod/c") == nil {
		t.Error("an open set must be asked about to be locked, and only that one")
	}
	w.put("prod/c", func(s *setState) { s.set.Partition = 3 })
	w.put("prod/a", func(s *setState) {
		s.pods, s.set.Phase, s.set.ConvergedRevision = podsAt("b", "b", "b"), events.PhaseConverged, "b"
	})
	w.forgetPosts()
	w.run(3 * time.Minute)
	if w.times("prod/b") == nil || w.times("prod/c") != nil || w.times("prod/a") != nil {
		t.Error("b should follow a, alone")
	}
}

func TestFleetSetsOpenedAndLockedGetNoContinuationWithoutAPlace(t *testing.T) {
	w := newWorld(t)
	w.trigger.Limits.MaxRolling = 1
	w.put("prod/a", func(s *setState) { newTemplate("b")(s); s.set.Phase = events.PhaseRolling })
	w.put("prod/c", func(s *setState) { newTemplate("b")(s); s.set.Partition = 0 })
	w.answer = func(p post) reply {
		if p.event.Subject() != "prod/c" {
			return reply{status: http.StatusAccepted}
		}
		e := events.NewContinue(p.req.Target, 10, w.clock.Now(), w.clock.Now(), &p.event)
		return reply{status: http.StatusOK, event: &e}
	}
	w.run(0)
	w.put("prod/c", func(s *setState) { s.set.Partition, s.set.Seq = 3, 10 }) // the function has locked it
	w.run(time.Minute)
	w.wantTimes("prod/c", 0)
}

func TestWavesFollowEachOther(t *testing.T) {
	w := newWorld(t)
	for wave, name := range []string{"first", "second"} {
		w.put("prod/"+name, func(s *setState) { newTemplate("b")(s); s.set.Wave = wave })
	}
	w.put("prod/first", func(s *setState) { s.set.HaltedRevision, s.set.Phase = "b", events.PhaseHalted })
	w.run(time.Hour)
	if w.times("prod/second") != nil {
		t.Error("the second wave starts although the first was halted")
	}
	w.put("prod/first", func(s *setState) {
		s.pods, s.set.Phase, s.set.ConvergedRevision, s.set.HaltedRevision = podsAt("b", "b", "b"), events.PhaseConverged, "b", ""
	})
	w.run(time.Hour + 5*time.Second)
	if w.times("prod/second") == nil {
		t.Error("the second wave does not follow")
	}
}

func TestRestartedTriggerDoesNotTakeUnseenSetsForFinished(t *testing.T) {
	w := newWorld(t)
	w.put("prod/z-first", newTemplate("b"))
	w.put("prod/a-second", func(s *setState) { newTemplate("b")(s); s.set.Wave = 1 })
	w.restart()
	w.run(0)
	if w.times("prod/a-second") != nil || len(w.times("prod/z-first")) != 1 {
		t.Errorf("asked about %v", w.posts)
	}
}

func TestApprovalIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.trigger.Limits.RequireApproval = true
	w.put(etcd, newTemplate("b"))
	w.run(time.Hour)
	w.put(etcd, func(s *setState) { s.set.Approved = "a" })
	w.run(2 * time.Hour)
	w.wantTimes(etcd)
	w.put(etcd, func(s *setState) { s.set.Approved = "b" })
	w.run(2*time.Hour + time.Second)
	w.wantTimes(etcd, 2*time.Hour)
}
