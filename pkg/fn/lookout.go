package fn

import (
	"errors"
	"sync"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// errRelieved ends the polling of a request that another one has taken over.
var errRelieved = errors.New("a newer event about the same set is waited with")

// lookouts let one event at a time poll for a set, besides the chain. Each
// change of a set and its pods brings another event; were all of them to poll,
// they would all wake up for the same change, and all but one lose the race.
// The newest takes over, so that no event is waited with for less than before.
type lookouts struct {
	mu  sync.Mutex
	now map[events.Target]*lookout
}

// lookout is one request's turn to poll.
type lookout struct {
	all      *lookouts
	set      events.Target
	keeps    bool // it carries the chain, or a person's word, and nobody relieves it
	relieved chan struct{}
}

func (l *lookouts) of(set events.Target, ask roll.Ask) *lookout {
	return &lookout{all: l, set: set, keeps: ask.Kind != roll.Look}
}

// begin takes over from whoever polls for the set, once. What it gives is closed
// when the next one does.
func (o *lookout) begin() <-chan struct{} {
	if o.keeps || o.relieved != nil {
		return o.relieved
	}
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if before := o.all.now[o.set]; before != nil {
		close(before.relieved)
	}
	if o.all.now == nil {
		o.all.now = map[events.Target]*lookout{}
	}
	o.relieved = make(chan struct{})
	o.all.now[o.set] = o
	return o.relieved
}

func (o *lookout) end() {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if o.all.now[o.set] == o {
		delete(o.all.now, o.set)
	}
}
