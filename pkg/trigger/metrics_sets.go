package trigger

import (
	"bufio"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// gauge is one series of every set that the trigger remembers. They are computed when scraped: a set that is gone leaves
// no series behind, and durations grow by themselves.
type gauge struct {
	name, help string
	// value of the series; with a label besides namespace and name, the value is 1 and word says what the label is,
	// empty if there is no series.
	value func(r Record, now time.Time) float64
	label string
	word  func(r Record) string
}

var gauges = []gauge{
	{name: "phase", help: "1 for the phase the function has written last, or None.",
		label: "phase", word: func(r Record) string { return phaseLabel(r.Set.Phase) }},
	{name: "state", help: "1 for the state as the trigger sees it.",
		label: "state", word: func(r Record) string { return r.Assess.State.String() }},
	{name: "outdated_pods", help: "Pods that are not at the target revision.",
		value: func(r Record, _ time.Time) float64 { return float64(r.Assess.Outdated) }},
	{name: "open_seconds", help: "For how long partition has been below replicas; 0 if it is not.",
		value: func(r Record, now time.Time) float64 { return secondsSince(r.OpenSince, now) }},
	{name: "diverged_seconds", help: "For how long the set has not been converged; 0 if it is.",
		value: func(r Record, now time.Time) float64 { return secondsSince(r.Since, now) }},
	{name: "halted", help: "1 if the roll to the present target was halted.",
		value: func(r Record, _ time.Time) float64 { return one(isHalted(*r.Set)) }},
	{name: "blocked", help: "1 if a precondition of the next step is missing.",
		value: func(r Record, _ time.Time) float64 { return one(r.Assess.State == Blocked) }},
	{name: "waiting", help: "1 if the set waits for its wave, a free place or approval.",
		value: func(r Record, _ time.Time) float64 { return one(r.Waiting != "") }},
	{name: "last_progress_timestamp_seconds", help: "When the sequence or the number of outdated pods last changed.",
		value: func(r Record, _ time.Time) float64 { return float64(r.Progress.UnixMilli()) / 1000 }},
	{name: "seq", help: "Sequence of the rollout record.",
		value: func(r Record, _ time.Time) float64 { return float64(r.Set.Seq) }},
	{name: "unplanned_elections", help: "Unplanned elections counted in the present roll.",
		value: func(r Record, _ time.Time) float64 { return float64(r.Set.UnplannedElections) }},
	{name: "leader_moves", help: "Leader moves made by us in the present roll.",
		value: func(r Record, _ time.Time) float64 { return float64(r.Set.Moves) }},
	{name: "reason", help: "1 for the reason the function has written last; see docs/reasons.md.",
		label: "reason", word: func(r Record) string { return wordLabel(r.Set.Reason) }},
	{name: "blocked_gate", help: "1 for the first closed gate of a blocked set; see docs/gates.md.",
		label: "gate", word: func(r Record) string {
			if r.Set.BlockedBy == "" {
				return ""
			}
			return wordLabel(r.Set.BlockedBy)
		}},
}

// ShowSets adds the gauges of every set to what is scraped.
func (m *Metrics) ShowSets(records func() []Record, c clock.PassiveClock) {
	m.records, m.clock = records, c
}

// Handler serves all metrics in Prometheus' text format. The gauges of the sets are written line by line: gathered by the
// client library, those of ten thousand sets would take more memory than all else together.
func (m *Metrics) Handler() http.Handler {
	process := promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{DisableCompression: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.Header.Del("Accept") // nothing but text can be added to
		process.ServeHTTP(w, r)
		if m.records == nil {
			return
		}
		buffered := bufio.NewWriter(w)
		writeGauges(buffered, m.records(), m.clock.Now())
		_ = buffered.Flush() // who asked is gone
	})
}

func writeGauges(w io.Writer, records []Record, now time.Time) {
	var line []byte
	for _, g := range gauges {
		name := "etcdroll_set_" + g.name
		line = append(line[:0], "# HELP "+name+" "+g.help+"\n# TYPE "+name+" gauge\n"...)
		_, _ = w.Write(line)
		for _, r := range records {
			if line = g.appendTo(line[:0], name, r, now); r.Set.Name != "" && len(line) > 0 {
				_, _ = w.Write(line)
			}
		}
	}
}

func (g gauge) appendTo(line []byte, name string, r Record, now time.Time) []byte {
	value, word := 1.0, ""
	if g.word == nil {
		value = g.value(r, now)
	} else if word = g.word(r); word == "" {
		return line
	}
	line = append(line, name...)
	line = appendLabel(line, `{namespace="`, r.Set.Namespace)
	line = appendLabel(line, `,name="`, r.Set.Name)
	if g.word != nil {
		line = appendLabel(line, ","+g.label+`="`, word)
	}
	line = append(line, "} "...)
	line = strconv.AppendFloat(line, value, 'g', -1, 64)
	return append(line, '\n')
}

// unquoted are the characters that the format wants escaped. No name has them; this is for what no API server would take.
var unquoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func appendLabel(line []byte, before, value string) []byte {
	line = append(line, before...)
	line = append(line, unquoted.Replace(value)...)
	return append(line, '"')
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
