package probe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// Check makes one attempt; nil is success. It must respect the context.
type Check func(ctx context.Context) error

// Event is a threshold that was reached, or a single failure on the way to one.
type Event struct {
	OK      bool
	Reached bool  // the verdict is (newly) OK or not OK
	Err     error // of the attempt
}

// Run probes until the context ends: first after initialDelaySeconds, then every
// periodSeconds. report is called for every failure and every threshold reached.
func Run(ctx context.Context, clk clock.WithTicker, p *corev1.Probe, initial bool, check Check, report func(Event)) {
	if !sleep(ctx, clk, seconds(p.InitialDelaySeconds, 0)) {
		return
	}
	tracker := NewTracker(p, initial)
	ticker := clk.NewTicker(seconds(p.PeriodSeconds, 10))
	defer ticker.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, seconds(p.TimeoutSeconds, 1))
		err := check(attempt)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if verdict, reached := tracker.Observe(err == nil); reached || err != nil {
			report(Event{OK: verdict, Reached: reached, Err: err})
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

func sleep(ctx context.Context, clk clock.Clock, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	timer := clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

func seconds(n, otherwise int32) time.Duration {
	if n < 1 {
		n = otherwise
	}
	return time.Duration(n) * time.Second
}
