package pod

import "time"

// Backoff says how long a container that ended waits before it runs again: not
// at all the first time, then Base, doubling up to Cap. A run of twice Cap
// without an end forgets the past.
type Backoff struct {
	Base, Cap time.Duration
	next      time.Duration
	crashed   bool
}

// After returns the pause following a run of this length.
func (b *Backoff) After(ran time.Duration) time.Duration {
	if !b.crashed || ran >= 2*b.Cap {
		b.crashed, b.next = true, b.Base
		return 0
	}
	pause := b.next
	b.next = min(2*b.next, b.Cap)
	return pause
}
