// Package probe runs readiness, liveness and startup probes.
package probe

import corev1 "k8s.io/api/core/v1"

// Tracker turns single probe outcomes into a verdict by the probe's thresholds.
// It is pure: the same outcomes give the same verdicts.
type Tracker struct {
	success, failure int32 // thresholds
	verdict          bool
	last             bool
	run              int32 // equal outcomes in a row
}

// NewTracker starts with the given verdict. Thresholds that are not set count as
// the API's defaults, 1 and 3.
func NewTracker(p *corev1.Probe, initial bool) *Tracker {
	t := &Tracker{success: p.SuccessThreshold, failure: p.FailureThreshold, verdict: initial}
	if t.success < 1 {
		t.success = 1
	}
	if t.failure < 1 {
		t.failure = 3
	}
	return t
}

// Observe takes one outcome and returns the verdict and whether it has just been
// reached: either it changed or, for the first time since the last change of
// outcome, the threshold was met.
func (t *Tracker) Observe(ok bool) (verdict, reached bool) {
	if ok != t.last || t.run == 0 {
		t.run = 0
		t.last = ok
	}
	t.run++
	threshold := t.failure
	if ok {
		threshold = t.success
	}
	if t.run == threshold {
		t.verdict = ok
		return t.verdict, true
	}
	return t.verdict, false
}
