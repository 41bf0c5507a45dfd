package trigger

import (
	"net/http"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// roller stands for the function: each request that it accepts takes one step, until all are taken.
type roller struct {
	w     *world
	steps int64
	// pause is the notbefore of its continuations.
	pause time.Duration
	// lose says what happens to the n-th request, from 1.
	lose  func(n int) loss
	calls int
	// at are the times of the steps.
	at []time.Duration
}

type loss int

const (
	nothing loss = iota
	theRequest
	theReply
	theConnection // after the step was taken
)

func (f *roller) answer(p post) reply {
	f.calls++
	lost := nothing
	if f.lose != nil {
		lost = f.lose(f.calls)
	}
	key := p.event.Subject()
	s := f.w.sets[key]
	if lost == theRequest {
		return reply{status: http.StatusAccepted}
	}
	if p.req.Kind == events.KindContinue && p.req.Seq != s.set.Seq {
		return reply{status: http.StatusOK} // stale
	}
	if s.set.Seq >= f.steps {
		return reply{status: http.StatusOK}
	}
	f.step(key, s)
	switch {
	case lost == theReply:
		return reply{status: http.StatusAccepted}
	case lost == theConnection:
		return reply{cut: true}
	case s.set.Seq == f.steps:
		return reply{status: http.StatusOK}
	}
	now := f.w.clock.Now()
	e := events.NewContinue(p.req.Target, s.set.Seq, now, now.Add(f.pause), &p.event)
	return reply{status: http.StatusOK, event: &e}
}

func (f *roller) step(key string, s *setState) {
	s.set.Seq++
	s.set.Phase = events.PhaseRolling
	if s.set.Seq == f.steps {
		s.set.Phase, s.set.ConvergedRevision = events.PhaseConverged, s.set.UpdateRevision
		s.pods = podsAt("b", "b", "b")
	}
	f.at = append(f.at, f.w.clock.Now().Sub(noon))
	f.w.Add(key)
}

func newRoller(w *world, steps int64, pause time.Duration) *roller {
	f := &roller{w: w, steps: steps, pause: pause}
	w.answer = f.answer
	w.put(etcd, func(s *setState) { newTemplate("b")(s); s.set.Seq = 0 })
	return f
}
