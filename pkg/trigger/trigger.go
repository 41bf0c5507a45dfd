package trigger

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/utils/clock"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Store is the cache of sets and pods that the trigger looks into.
type Store interface {
	// Look returns a managed set, to be read only, and its pods; false if there is no such set, or it is not managed any more.
	Look(key string) (*SetView, []PodView, bool)
	// Keys lists all managed sets.
	Keys() []string
}

// Schedule says when a set is looked at again. A delaying work queue is one: a set is in it once, and is never handed
// to two workers at a time.
type Schedule interface {
	Add(key string)
	AddAfter(key string, after time.Duration)
}

// Poster delivers one event once.
type Poster interface {
	Send(ctx context.Context, e event.Event, wantReply bool) (events.Answer, error)
}

// Limits bound how many sets roll at once.
type Limits struct {
	// MaxRolling is the most sets that roll at the same time; 0 is no bound.
	MaxRolling int
	// RequireApproval lets a set start only once a person has named its target revision on it.
	RequireApproval bool
}

// Trigger turns divergence into events. It holds no state that cannot be lost.
type Trigger struct {
	Store    Store
	Schedule Schedule
	Sink     Poster
	Clock    clock.PassiveClock
	Cadence  Cadence
	Limits   Limits
	Health   *Health
	Metrics  *Metrics
	Log      *slog.Logger
	Spans    events.Spans // told of each event that was sent; nil tells nobody

	mu      sync.Mutex
	records map[string]Record
	forced  map[string]bool
	board   board
}

// Look assesses one set and does the one thing that is due: nothing, one request, or one continuation. It then says
// when to look again. It must not run twice at a time for one key.
func (t *Trigger) Look(ctx context.Context, key string) {
	now := t.Clock.Now()
	before, r, ok := t.see(key, now)
	if !ok {
		return
	}
	move := plan(r, now, t.Cadence)
	t.tellChange(before, r)
	if move.Act == Rest {
		t.again(key, move.After)
		return
	}
	r, lockOnly, may := t.admit(key, r, now)
	if !may {
		// Whoever leaves a place calls the next one; this is for what nobody thought of.
		t.again(key, spread(key, t.Cadence.Waiting))
		return
	}
	r = t.carryOut(ctx, r, move.Act, lockOnly)
	t.settled(key, r)
	if next := plan(r, t.Clock.Now(), t.Cadence); next.Act == Rest {
		t.again(key, next.After)
	} else {
		t.Schedule.Add(key)
	}
}

// Sweep has every set looked at once within a tenth of the sweep's interval. The look is at the cache: a set with
// nothing to do costs no event.
func (t *Trigger) Sweep() {
	for _, key := range t.Store.Keys() {
		t.Schedule.AddAfter(key, share(key, t.Cadence.Sweep/10))
	}
}

// Force has one set asked about whatever the cache says, because the cache is known to be behind.
func (t *Trigger) Force(key string) {
	t.mu.Lock()
	if t.forced == nil {
		t.forced = map[string]bool{}
	}
	t.forced[key] = true
	t.mu.Unlock()
	t.Schedule.Add(key)
}

func (t *Trigger) again(key string, after time.Duration) {
	if after > 0 {
		t.Schedule.AddAfter(key, after)
	}
}

var unseen = &SetView{}

func (t *Trigger) recall(key string) Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, known := t.records[key]; known {
		return r
	}
	return Record{Set: unseen}
}

// takeForce is true once after a Force. One that comes in while a request is under way is kept for the next look.
func (t *Trigger) takeForce(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	forced := t.forced[key]
	delete(t.forced, key)
	return forced
}

func (t *Trigger) keep(key string, r Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.records == nil {
		t.records = map[string]Record{}
	}
	t.records[key] = r
}

func (t *Trigger) forget(key string) {
	t.mu.Lock()
	delete(t.records, key)
	delete(t.forced, key)
	t.mu.Unlock()
	t.Health.Forget(key)
}

// Records is a copy of all that is remembered, for metrics.
func (t *Trigger) Records() []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Record, 0, len(t.records))
	for _, r := range t.records {
		all = append(all, r)
	}
	return all
}
