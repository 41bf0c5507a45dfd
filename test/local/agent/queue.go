package agent

import (
	"context"
	"time"
)

// atOnce lets the pod controller's queues hand out every item immediately: a
// status must be visible when it happens. Failures are slowed down by keepTrying.
type atOnce struct{}

func (atOnce) When(any) time.Duration { return 0 }
func (atOnce) Forget(any)             {}
func (atOnce) NumRequeues(any) int    { return 0 }

// keepTrying retries for ever, 5 ms after the first failure and then at growing
// distance up to half a second: an API server that is away costs time, not pods.
func keepTrying(_ context.Context, _ string, tries int, _ time.Time, _ error) (*time.Duration, error) {
	delay := 500 * time.Millisecond
	if tries < 7 {
		delay = 5 * time.Millisecond << tries
	}
	return &delay, nil
}
