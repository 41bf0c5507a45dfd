package trigger

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// metric is the value of the series that has all the labels; -1 if there is none.
func metric(t *testing.T, m *Metrics, name string, labels ...string) float64 {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, series := range family.GetMetric() {
			var values []string
			for _, pair := range series.GetLabel() {
				values = append(values, pair.GetValue())
			}
			if !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(values, l) }) {
				return series.GetGauge().GetValue() + series.GetCounter().GetValue() + float64(series.GetHistogram().GetSampleCount())
			}
		}
	}
	return -1
}

func TestMetricsShowEverySetAndForgetIt(t *testing.T) {
	w := newWorld(t)
	m := w.trigger.Metrics
	m.ShowSets(w.trigger.Records, w.clock)
	w.answer = func(post) reply {
		if len(w.posts) == 1 {
			return reply{status: http.StatusServiceUnavailable}
		}
		return reply{status: http.StatusAccepted}
	}
	w.put(etcd, func(s *setState) {
		newTemplate("b")(s)
		s.set.Partition, s.set.Phase, s.set.HaltedRevision, s.set.Seq, s.set.UnplannedElections = 2, events.PhaseHalted, "b", 7, 1
		s.set.Moves, s.set.Reason = 2, "PodBroken"
	})
	w.put("prod/blocked", func(s *setState) {
		newTemplate("b")(s)
		s.set.Phase, s.set.Reason, s.set.BlockedBy = events.PhaseBlocked, "GatesClosed", "CaughtUp"
	})
	w.put("prod/odd", func(s *setState) { s.set.Phase, s.set.Reason = "what ever", "a\nb" })
	w.run(90 * time.Second)
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"etcdroll_set_phase", []string{"prod", "etcd", events.PhaseHalted}, 1},
		{"etcdroll_set_phase", []string{"prod", "odd", "Other"}, 1},
		{"etcdroll_set_state", []string{"etcd", "halted"}, 1},
		{"etcdroll_set_outdated_pods", []string{"etcd"}, 3},
		{"etcdroll_set_open_seconds", []string{"etcd"}, 90},
		{"etcdroll_set_open_seconds", []string{"blocked"}, 0},
		{"etcdroll_set_diverged_seconds", []string{"blocked"}, 90},
		{"etcdroll_set_halted", []string{"etcd"}, 1},
		{"etcdroll_set_blocked", []string{"blocked"}, 1},
		{"etcdroll_set_waiting", []string{"blocked"}, 0},
		{"etcdroll_set_seq", []string{"etcd"}, 7},
		{"etcdroll_set_unplanned_elections", []string{"etcd"}, 1},
		{"etcdroll_set_leader_moves", []string{"etcd"}, 2},
		{"etcdroll_set_reason", []string{"etcd", "PodBroken"}, 1},
		{"etcdroll_set_reason", []string{"odd", "Other"}, 1},
		{"etcdroll_set_blocked_gate", []string{"blocked", "CaughtUp"}, 1},
		{"etcdroll_set_blocked_gate", []string{"etcd"}, -1},
		{"etcdroll_set_last_progress_timestamp_seconds", []string{"etcd"}, float64(noon.Unix())},
		{"etcdroll_events_sent_total", []string{"diverged", "retry"}, 1},
		{"etcdroll_events_sent_total", []string{"diverged", "taken"}, float64(len(w.posts) - 1)},
		{"etcdroll_delivery_seconds", nil, float64(len(w.posts))},
	} {
		if got := metric(t, m, c.name, c.labels...); got != c.want {
			t.Errorf("%s%v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	delete(w.sets, etcd)
	w.Add(etcd)
	w.run(91 * time.Second)
	if got := metric(t, m, "etcdroll_set_seq", "etcd"); got != -1 {
		t.Errorf("a series of a set that is gone: %v", got)
	}
}

func TestMetricLabelsAreOurOwnWords(t *testing.T) {
	for in, want := range map[string]string{
		events.TypeDiverged: "diverged", events.TypeContinue: "continue", events.TypeConverged: "converged",
		"com.example.x": "other", "dev.etcdroll.rollout.invented.v1": "other", "": "other",
	} {
		if got := shortType(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
