package pod

import (
	"sync"
	"time"
)

// ending is the order to end and its deadline, which can only come nearer.
type ending struct {
	begun   chan struct{} // closed at the first order
	overdue chan struct{} // closed when the grace is used up

	mu       sync.Mutex
	deadline time.Time
	timer    *time.Timer
	once     sync.Once
}

func newEnding() *ending {
	return &ending{begun: make(chan struct{}), overdue: make(chan struct{})}
}

func (e *ending) within(grace time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	deadline := time.Now().Add(grace)
	if e.timer != nil {
		if !deadline.Before(e.deadline) {
			return
		}
		e.timer.Stop()
	} else {
		close(e.begun)
	}
	e.deadline = deadline
	e.timer = time.AfterFunc(grace, func() { e.once.Do(func() { close(e.overdue) }) })
}

// left is what remains of the grace.
func (e *ending) left() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(time.Until(e.deadline), 0)
}
