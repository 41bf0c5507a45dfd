package trigger

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// metric is the value of the series that has all the labels, or a histogram's count; -1 if there is none.
func metric(t *testing.T, m *Metrics, name string, labels ...string) float64 {
	t.Helper()
	for line := range strings.Lines(scrape(t, m)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if strings.HasPrefix(line, name+"_count ") || strings.HasPrefix(line, name+" ") {
			series, value, _ = strings.Cut(strings.TrimSpace(line), " ")
		} else if !strings.HasPrefix(line, name+"{") {
			continue
		}
		if slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(series+",", `="`+l+`"`) }) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return number
	}
	return -1
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	r.Header.Set("Accept-Encoding", "gzip")
	m.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	return w.Body.String()
}

func TestAScrapeIsOneWellFormedText(t *testing.T) {
	m := NewMetrics()
	m.Sent(events.TypeDiverged, Taken, time.Second)
	if strings.Contains(scrape(t, m), "etcdroll_set_") {
		t.Error("sets are shown that nobody has given")
	}
	odd := Record{Set: &SetView{Namespace: "a", Name: "quote\"back\\slash\nline", Seq: 12345678901}}
	m.ShowSets(func() []Record { return []Record{odd, {Set: unseen}} }, clocktesting.NewFakePassiveClock(noon))
	text := scrape(t, m)
	if want := `etcdroll_set_seq{namespace="a",name="quote\"back\\slash\nline"} 1.2345678901e+10` + "\n"; !strings.Contains(text, want) {
		t.Errorf("no line %q in\n%s", want, text)
	}
	typed := map[string]bool{}
	line := regexp.MustCompile(`^([a-z_]+)(\{([a-z_]+="([^"\\]|\\["\\n])*",?)*\})? [^ ]+$`)
	for l := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if kind, is := strings.CutPrefix(l, "# TYPE "); is {
			name, _, _ := strings.Cut(kind, " ")
			if typed[name] {
				t.Errorf("%s comes twice", name)
			}
			typed[name] = true
		} else if !strings.HasPrefix(l, "# HELP ") && !line.MatchString(l) {
			t.Errorf("malformed: %q", l)
		}
	}
	if strings.Contains(text, `name=""`) || !typed["etcdroll_set_blocked_gate"] {
		t.Error("a set without a name is shown, or a gauge is not")
	}
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
