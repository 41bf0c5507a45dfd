package fn

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Each change of a set brings an event; all of them polling would all race for
// the next step.
func TestOneEventAtATimeIsWaitedWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3).outdated()
		post(t, handler(w), diverged()) // released; the controller does nothing yet
		h := handler(w)
		h.MaxWait = 5 * time.Second
		began := time.Now()
		first, chain, second := make(chan time.Duration, 1), make(chan time.Duration, 1), make(chan time.Duration, 1)
		send := func(took chan<- time.Duration, get func() answered) {
			go func() { get(); took <- time.Since(began) }()
		}
		send(first, func() answered { return post(t, h, diverged(), preferReply) })
		send(chain, func() answered { return post(t, h, continueAt(1), preferReply) })
		time.Sleep(time.Second)
		send(second, func() answered {
			got := post(t, h, diverged(), preferReply)
			if got.code != http.StatusAccepted || got.event != nil {
				t.Errorf("%d %s: who waits with an event does not go on", got.code, got.kind())
			}
			return got
		})
		if took := <-first; took > 1200*time.Millisecond {
			t.Errorf("the first was waited with for %s beside the second", took)
		}
		if took := <-chain; took < 4*time.Second {
			t.Errorf("the chain was relieved after %s", took)
		}
		if took := <-second; took < 5*time.Second {
			t.Errorf("the second was waited with until %s, as if it were the first", took)
		}
		if len(h.lookouts.now) != 0 {
			t.Errorf("%d sets are remembered at the end", len(h.lookouts.now))
		}
	})
}

// An event that is answered at once leaves whoever polls where it is, and so
// does one about another set.
func TestOnlyWhoPollsTakesOver(t *testing.T) {
	var l lookouts
	other := events.Target{Namespace: "db", Name: "other"}
	first := l.of(target, toAsk(events.Request{Kind: events.KindDiverged}))
	relieved := first.begin()
	l.of(target, toAsk(events.Request{Kind: events.KindDiverged})).end()
	l.of(target, toAsk(events.Request{Kind: events.KindContinue})).begin()
	l.of(other, toAsk(events.Request{Kind: events.KindDiverged})).begin()
	select {
	case <-relieved:
		t.Error("it was relieved by one who does not poll for this set")
	default:
	}
	if first.begin() != relieved {
		t.Error("it has relieved itself")
	}
	resume := l.of(target, toAsk(events.Request{Kind: events.KindResume}))
	if resume.begin() != nil {
		t.Error("a resume that has to wait can be relieved, and would be lost")
	}
	second := l.of(target, toAsk(events.Request{Kind: events.KindDiverged}))
	second.begin()
	select {
	case <-relieved:
	default:
		t.Error("it polls beside its successor")
	}
	first.end()
	if l.now[target] != second {
		t.Error("who was relieved takes the successor along")
	}
}
