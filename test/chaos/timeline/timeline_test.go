package timeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

func TestEverythingIsInOneOrder(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	r := judge.Record{Started: start, Settled: at(9),
		Incidents: []judge.Incident{{Fault: plan.Fault{Kind: plan.Freeze, For: time.Second}, Member: 1, From: at(4), To: at(6)}}}
	r.Report.Elections = []observer.Election{{At: at(5), From: 2, To: 3}}
	r.History.Sets = []observer.SetState{{At: at(-5), Partition: 3}, {At: at(1), Partition: 2, Annotations: map[string]string{events.AnnotationPhase: events.PhaseRolling}}}
	r.History.Pods = []observer.PodState{{At: at(-5), Index: 2, UID: "a"}, {At: at(2), Index: 2, UID: "a", Terminating: true}, {At: at(3), Index: 2, UID: "b"}}
	r.History.Samples = []observer.Sample{{At: at(-5), Index: 2}, {At: at(2), Index: 2, Down: true}}
	text := Of(r, judge.Verdict{Findings: []judge.Finding{{Invariant: "I2", At: at(8), Text: "it led"}}})
	last := -1
	for _, want := range []string{"changes the template", "partition 3 -> 2", `phase "Rolling"`, "2 terminating", "2 is out of reach", "2 created",
		"FAULT", "ELECTION", "heal", "BROKEN I2", "settled"} {
		line := slices.IndexFunc(strings.Split(text, "\n"), func(l string) bool { return strings.Contains(l, want) })
		if line < 0 || line < last {
			t.Errorf("%q is on line %d, after line %d, of\n%s", want, line, last, text)
		}
		last = max(last, line)
	}
}
