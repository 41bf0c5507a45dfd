package e2e

import (
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/collector"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

// TestOneRollIsOneTrace sends the spans of a roll to a collector: each visit of
// the function hangs below the event that asked for it, up to a question of the
// trigger's, and all of them are in one trace.
func TestOneRollIsOneTrace(t *testing.T) {
	c := collector.New()
	defer c.Close()
	s := newStage(t, quick())
	place := s.install(false)
	place.Env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=100"}
	function := s.part(place.Function())
	trigger := s.part(place.Trigger(function.URL, "--leader-elect=false"))
	s.settled()
	s.start(etcdset.ToVersion("3.7.3"))
	r := s.happy()
	trigger.Stop() // sends what it has left
	function.Stop()

	target := r.Final.Set.Update
	byID := map[string]collector.Span{}
	var steps []collector.Span
	for _, span := range spansOf(c, target) {
		byID[span.Trace+span.ID] = span
		if span.Attrs["etcdroll.outcome"] == "Stepped" && span.Service == "roll-fn" {
			steps = append(steps, span)
		}
	}
	if len(steps) < 3*2 { // a release and a lock for each of three
		t.Fatalf("%d steps are in the traces", len(steps))
	}
	for _, step := range steps {
		if step.Trace != steps[0].Trace {
			t.Errorf("a step of the same roll is in another trace: %+v", step)
		}
		root := step
		for hops := 0; root.Parent != "" && hops < 1000; hops++ {
			above, has := byID[root.Trace+root.Parent]
			if !has {
				t.Fatalf("%+v has no parent in the traces", root)
			}
			root = above
		}
		if root.Name != "ask" || root.Service != "trigger" {
			t.Errorf("a step goes back to %+v, want a question of the trigger's", root)
		}
	}
}

// spansOf waits until no more spans of the roll come in.
func spansOf(c *collector.Collector, target string) []collector.Span {
	seen := -1
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if n := len(c.Spans()); n == seen {
			break
		} else {
			seen = n
		}
	}
	var list []collector.Span
	for _, s := range c.Spans() {
		if s.Attrs["etcdroll.target"] == target {
			list = append(list, s)
		}
	}
	return list
}
