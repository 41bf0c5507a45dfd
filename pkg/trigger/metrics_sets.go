package trigger

import (
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// setGauges shows every set that the trigger remembers. They are computed when scraped: a set that is gone leaves no
// series behind, and durations grow by themselves.
type setGauges struct {
	records func() []Record
	clock   clock.PassiveClock
}

// ShowSets adds the gauges of every set to the registry.
func (m *Metrics) ShowSets(records func() []Record, c clock.PassiveClock) {
	m.Registry.MustRegister(setGauges{records: records, clock: c})
}

var (
	setLabels = []string{"namespace", "name"}

	descPhase    = desc("phase", "1 for the phase the function has written last, or None.", "phase")
	descState    = desc("state", "1 for the state as the trigger sees it.", "state")
	descOutdated = desc("outdated_pods", "Pods that are not at the target revision.")
	descOpen     = desc("open_seconds", "For how long partition has been below replicas; 0 if it is not.")
	descDiverged = desc("diverged_seconds", "For how long the set has not been converged; 0 if it is.")
	descHalted   = desc("halted", "1 if the roll to the present target was halted.")
	descBlocked  = desc("blocked", "1 if a precondition of the next step is missing.")
	descWaiting  = desc("waiting", "1 if the set waits for its wave, a free place or approval.")
	descProgress = desc("last_progress_timestamp_seconds", "When the sequence or the number of outdated pods last changed.")
	descSeq      = desc("seq", "Sequence of the rollout record.")
	descElection = desc("unplanned_elections", "Unplanned elections counted in the present roll.")
	descMoves    = desc("leader_moves", "Leader moves made by us in the present roll.")
	descReason   = desc("reason", "1 for the reason the function has written last; see docs/reasons.md.", "reason")
	descGate     = desc("blocked_gate", "1 for the first closed gate of a blocked set; see docs/gates.md.", "gate")
)

func desc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("etcdroll_set_"+name, help, append(append([]string{}, setLabels...), more...), nil)
}

// Describe sends nothing, which makes the collector an unchecked one: its series come and go.
func (setGauges) Describe(chan<- *prometheus.Desc) {}

// Collect reads the records.
func (g setGauges) Collect(out chan<- prometheus.Metric) {
	now := g.clock.Now()
	for _, r := range g.records() {
		if r.Set.Name == "" {
			continue
		}
		gauge := func(d *prometheus.Desc, value float64, more ...string) {
			labels := append([]string{r.Set.Namespace, r.Set.Name}, more...)
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
		}
		gauge(descPhase, 1, phaseLabel(r.Set.Phase))
		gauge(descState, 1, r.Assess.State.String())
		gauge(descOutdated, float64(r.Assess.Outdated))
		gauge(descOpen, secondsSince(r.OpenSince, now))
		gauge(descDiverged, secondsSince(r.Since, now))
		gauge(descHalted, one(isHalted(r.Set)))
		gauge(descBlocked, one(r.Assess.State == Blocked))
		gauge(descWaiting, one(r.Waiting != ""))
		gauge(descProgress, float64(r.Progress.UnixMilli())/1000)
		gauge(descSeq, float64(r.Set.Seq))
		gauge(descElection, float64(r.Set.UnplannedElections))
		gauge(descMoves, float64(r.Set.Moves))
		gauge(descReason, 1, wordLabel(r.Set.Reason))
		if r.Set.BlockedBy != "" {
			gauge(descGate, 1, wordLabel(r.Set.BlockedBy))
		}
	}
}

// phaseLabel keeps the label to the known phases, whatever somebody wrote into the annotation.
func phaseLabel(phase string) string {
	switch phase {
	case events.PhaseConverged, events.PhaseRolling, events.PhaseBlocked, events.PhaseHalted, events.PhasePaused:
		return phase
	case "":
		return "None"
	}
	return "Other"
}

// words are what reasons and gates look like. A set has one of each at a time, so the number of series is bounded
// whatever an annotation says; this bounds what they say.
var words = regexp.MustCompile(`^[A-Za-z]{1,40}$`)

func wordLabel(word string) string {
	switch {
	case word == "":
		return "None"
	case words.MatchString(word):
		return word
	}
	return "Other"
}

func secondsSince(t, now time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(now.Sub(t).Seconds(), 0)
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
