package round

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/fault"
	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// befall is all the faults of a round under way.
type befall struct {
	cancelPending context.CancelFunc
	wait          sync.WaitGroup

	mu        sync.Mutex
	open      int
	last      time.Time // when the last one was over
	incidents []judge.Incident
}

// begin lets every fault wait for its moment.
func (r *Round) begin(ctx context.Context) *befall {
	b := &befall{last: r.record.Started, open: len(r.Plan.Faults) + 1}
	pending, cancel := context.WithCancel(ctx)
	b.cancelPending = cancel
	for _, f := range r.Plan.Faults {
		b.wait.Go(func() {
			var incidents []judge.Incident
			if r.await(pending, f.When) {
				incidents = Befall(ctx, pending, fault.Of(f, r.Stage), f)
			}
			b.done(incidents)
		})
	}
	b.wait.Go(func() { b.done(<-r.shared) })
	return b
}

func (b *befall) done(incidents []judge.Incident) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	b.incidents = append(b.incidents, incidents...)
	for _, i := range incidents {
		if i.To.After(b.last) {
			b.last = i.To
		}
	}
}

// over says that nothing is going on or to come any more, and since when.
func (b *befall) over() (bool, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open == 0, b.last
}

// finish waits for the end of all and gives what came about.
func (b *befall) finish() []judge.Incident {
	b.cancelPending()
	b.wait.Wait()
	return b.incidents
}

// healsWithin bounds one healing.
const healsWithin = time.Minute

// Befall injects a fault, lets it last, and heals it. What could not be injected
// leaves no incident. It ends early with the pending context: a roll that is over
// needs no more faults.
func Befall(ctx, pending context.Context, f fault.Fault, p plan.Fault) []judge.Incident {
	from := time.Now()
	if err := f.Inject(ctx); err != nil {
		return nil
	}
	select {
	case <-pending.Done():
	case <-time.After(time.Until(from.Add(p.For))):
	}
	heal, cancel := context.WithTimeout(context.WithoutCancel(ctx), healsWithin)
	defer cancel()
	err := f.Heal(heal)
	if errors.Is(err, fault.ErrNoEffect) {
		return nil
	}
	t := f.Trace()
	i := judge.Incident{Fault: p, Member: t.Member, UID: t.UID, From: from, To: time.Now(), Note: t.Note}
	if t.From.After(from) {
		i.From = t.From
	}
	if err != nil {
		i.Note = fmt.Sprintf("not healed: %.200s", err)
	}
	return []judge.Incident{i}
}

// await waits for the moment; false if it does not come.
func (r *Round) await(pending context.Context, m plan.Moment) bool {
	if r.Observer.Until(pending, faultsWithin, string(m.Anchor), func(observer.View) bool { return r.count(m.Anchor) >= m.Nth }) != nil {
		return false
	}
	select {
	case <-pending.Done():
		return false
	case <-time.After(m.After):
		return pending.Err() == nil
	}
}

// count is how often the anchor has come since the start.
func (r *Round) count(a plan.Anchor) int {
	report, err := r.Observer.Report(r.mark)
	if err != nil {
		return 0
	}
	n := 0
	switch a {
	case plan.Released:
		n = len(report.Replaced)
		if w := len(report.Windows); w > 0 && report.Windows[w-1].Closed.IsZero() && len(report.Windows[w-1].Replaced) == 0 {
			n++ // released and not yet gone
		}
	case plan.Replaced:
		for _, p := range report.Replaced {
			if !p.Created.IsZero() {
				n++
			}
		}
	case plan.Moving:
		n = len(report.Announced)
	}
	return n
}
