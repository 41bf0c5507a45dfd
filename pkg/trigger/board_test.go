package trigger

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/etcdroll/etcdroll/pkg/events"
)

func TestTheBoardCallsWhomeverMayStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b board
		limits := Limits{MaxRolling: rapid.IntRange(0, 4).Draw(t, "limit"), RequireApproval: rapid.Bool().Draw(t, "approval")}
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			c := anyContender.Draw(t, "contender")
			c.Key, c.Waits = rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "key"), true
			// What Assess and observe hold to.
			c.Diverged = c.Diverged || c.Disruptive || c.Rolling || c.LetStart
			b.place(c)
			if rapid.Bool().Draw(t, "gone") {
				b.remove(rapid.SampledFrom([]string{"a", "b", "x"}).Draw(t, "who"))
			}
		}
		var want []string
		for _, c := range b.unfinished {
			if needsPlace(c) && mayStart(c.Key, b.unfinished, limits.MaxRolling, limits.RequireApproval) == "" {
				want = append(want, c.Key)
			}
		}
		got := slices.Sorted(slices.Values(b.next(limits)))
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("calls %v, want %v of %+v", got, want, b.unfinished)
		}
		for key, at := range b.at {
			if b.unfinished[at].Key != key || len(b.at) != len(b.unfinished) {
				t.Fatalf("the index is off: %v, %+v", b.at, b.unfinished)
			}
		}
	})
}

func TestAFreePlaceIsTakenAtOnce(t *testing.T) {
	w := newWorld(t)
	w.trigger.Limits.MaxRolling = 1
	for i := range 4 {
		w.put(fmt.Sprintf("prod/%d", i), newTemplate("b"))
	}
	w.run(0)
	for i := range 3 {
		now := time.Duration(i+1) * 10 * time.Second
		w.run(now)
		w.put(fmt.Sprintf("prod/%d", i), func(s *setState) {
			s.pods, s.set.Phase, s.set.ConvergedRevision = podsAt("b", "b", "b"), events.PhaseConverged, "b"
		})
		w.run(now)
		if got := w.times(fmt.Sprintf("prod/%d", i+1)); len(got) == 0 || got[0] != now {
			t.Errorf("set %d was asked about at %v, its place was free at %v", i+1, got, now)
		}
	}
}

func TestADeletedSetLeavesItsPlace(t *testing.T) {
	w := newWorld(t)
	w.trigger.Limits.MaxRolling = 1
	w.put("prod/a", func(s *setState) { newTemplate("b")(s); s.set.Phase = events.PhaseRolling })
	w.put("prod/b", newTemplate("b"))
	w.run(10 * time.Second)
	delete(w.sets, "prod/a")
	w.trigger.Changed("prod/a")
	w.run(10 * time.Second)
	w.wantTimes("prod/b", 10*time.Second)
}

func TestASetThatStandsStillHoldsNoPlaceAfterItWasAskedAbout(t *testing.T) {
	for name, standstill := range map[string]func(*setState){
		"halted": func(s *setState) { s.set.HaltedRevision, s.set.Phase = "b", events.PhaseHalted },
		"paused": func(s *setState) { s.set.Paused = true },
	} {
		w := newWorld(t)
		w.trigger.Limits.MaxRolling = 1
		w.answer = func(p post) reply {
			if p.event.Subject() == "prod/a" {
				return reply{status: http.StatusOK}
			}
			return reply{status: http.StatusAccepted}
		}
		w.put("prod/a", func(s *setState) { newTemplate("b")(s); standstill(s) })
		w.run(0)
		w.put("prod/b", newTemplate("b"))
		w.run(0)
		if w.times("prod/b") == nil {
			t.Errorf("%s: the set holds its place", name)
		}
	}
}
