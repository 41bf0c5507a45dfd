package trigger

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/utils/clock"
)

// Metrics are the trigger's counters. State gauges of every set come from here too, since a function that is scaled
// to zero cannot be scraped.
type Metrics struct {
	Registry *prometheus.Registry

	sent     *prometheus.CounterVec
	replies  *prometheus.CounterVec
	dead     *prometheus.CounterVec
	delivery prometheus.Histogram
	synced   *prometheus.GaugeVec
	leading  prometheus.Gauge

	records func() []Record // nil until ShowSets
	clock   clock.PassiveClock
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
		dead: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcdroll_dead_letters_total", Help: "Events that a broker could not deliver, by type.",
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
	m.Registry.MustRegister(m.sent, m.replies, m.dead, m.delivery, m.synced, m.leading,
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

// DeadLetter counts one event that a broker could not deliver.
func (m *Metrics) DeadLetter(eventType string) { m.dead.WithLabelValues(shortType(eventType)).Inc() }

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
