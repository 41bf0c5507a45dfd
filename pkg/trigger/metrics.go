package trigger

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/utils/clock"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Metrics are the trigger's counters. State gauges of every set come from here too, since a function that is scaled
// to zero cannot be scraped.
type Metrics struct {
	Registry *prometheus.Registry

	sent     *prometheus.CounterVec
	replies  *prometheus.CounterVec
	delivery prometheus.Histogram
	synced   *prometheus.GaugeVec
	leading  prometheus.Gauge
}

// NewMetrics makes the counters on a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcdroll_events_sent_total", Help: "Events posted to the sink, by type and by what became of them.",
		}, []string{"type", "result"}),
		replies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcdroll_events_received_total", Help: "Events that came back as replies, by type.",
		}, []string{"type"}),
		delivery: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "etcdroll_delivery_seconds", Help: "Time from posting an event to the answer.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}),
		synced: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "etcdroll_informer_last_sync_timestamp_seconds",
			Help: "When the cache of this resource was last known to be current.",
		}, []string{"resource"}),
		leading: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "etcdroll_leading", Help: "1 if this replica sends events.",
		}),
	}
	m.Registry.MustRegister(m.sent, m.replies, m.delivery, m.synced, m.leading,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Sent counts one POST.
func (m *Metrics) Sent(eventType string, o Outcome, took time.Duration) {
	m.sent.WithLabelValues(shortType(eventType), o.String()).Inc()
	m.delivery.Observe(took.Seconds())
}

// Replied counts one event that came back.
func (m *Metrics) Replied(eventType string) { m.replies.WithLabelValues(shortType(eventType)).Inc() }

// Current records that a cache is known to be current.
func (m *Metrics) Current(resource string, at time.Time) {
	m.synced.WithLabelValues(resource).Set(float64(at.UnixMilli()) / 1000)
}

// Leading records that this replica sends events.
func (m *Metrics) Leading() { m.leading.Set(1) }

// shortType keeps the label to our own few words, whatever a sink replies with.
func shortType(eventType string) string {
	parts := strings.Split(eventType, ".")
	if len(parts) == 5 && parts[0] == "dev" && parts[1] == "etcdroll" && parts[4] == "v1" {
		switch parts[3] {
		case "diverged", "continue", "resume", "stepped", "blocked", "halted", "converged":
			return parts[3]
		}
	}
	return "other"
}

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
