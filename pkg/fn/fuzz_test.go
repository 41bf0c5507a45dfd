package fn

import (
	"os"
	"reflect"
	"testing"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// FuzzConfig: whatever is in the ConfigMap, there is an answer, and a
// configuration that is refused changes no threshold.
func FuzzConfig(f *testing.F) {
	shell, err := os.ReadFile("testdata/shell-rollout.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(shell), "", "tls: {enabled: true, secretName: s}", "gates: {caughtUp: {maxLag: 1e3}}", "a: &a [*a]", "cooldownSeconds: 1e99",
		"clientPort: 0x10", "tls:\n  enabled: !!str true", "? {a: b}\n: c", "\xff\xfe", "{\"stsName\": null}", "steps: {attempts: .inf}", "---\n---\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, set := range []bool{false, true} {
			target := etcdSet(3)
			if set {
				target = secureSet()
			}
			s, problem := Configure(target, text)
			again, problemAgain := Configure(target, text)
			if !reflect.DeepEqual(problem, problemAgain) || s.Limits != again.Limits {
				t.Fatalf("two answers to one text: %v, %v", problem, problemAgain)
			}
			if problem != nil && problem.Message == "" {
				t.Fatal("a problem without words")
			}
			if s.Port < 1 || s.Port > 65535 || s.Limits.Attempts < 1 || s.Limits.ReadyTimeout <= 0 || s.Limits.Cooldown < 0 {
				t.Fatalf("out of bounds: %+v", s)
			}
		}
	})
}

// FuzzRecord: an annotation that anybody may have written leads to no panic
// and never to a record that does not survive being written again.
func FuzzRecord(f *testing.F) {
	full, err := encodeRecord(roll.Record{
		UID: "u", Seq: 3, Target: newRevision, Started: noon, Step: &roll.Step{Kind: roll.StepRelease, Index: 2, PodUID: "p", Started: noon},
		Attempts: map[int]int{2: 1}, Members: map[int]guard.ID{0: 5}, Recent: []roll.Seen{{Target: "x", At: noon}}, Last: &roll.Receipt{Target: "y"},
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{full, "", "{}", "null", "[]", `{"seq":9223372036854775807}`, `{"step":{"index":-1,"kind":"move"}}`, `{"members":{"x":"1"}}`, `{"attempts":{"-5":3}}`, `{"step":{"index":99999999,"kind":"release"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRecord(text)
		if err != nil {
			if r.Seq != 0 || r.Step != nil {
				t.Fatal("an unreadable record is not none")
			}
			return
		}
		if again, err := encodeRecord(r); err == nil {
			if _, err := parseRecord(again); err != nil {
				t.Fatalf("%q cannot be read again: %v", again, err)
			}
		}
		// Whatever it says, deciding from it must not panic, and a set that is
		// up to date is never disturbed by it.
		w := newWorld(3)
		w.set.Annotations["etcdroll.dev/rollout"] = text
		_, d, err := observer(w).Decide(t.Context(), target, roll.Ask{})
		if err != nil || d.Disruption() > 0 {
			t.Fatalf("%s %s, %v", d.Outcome, d.Reason, err)
		}
	})
}

// FuzzOverrides: only a well-formed override for a soft gate ever comes out.
func FuzzOverrides(f *testing.F) {
	for _, seed := range []string{
		"gate=Soaked,revision=b,until=2026-12-01T00:00:00Z,reason=r", `[{"gate":"Soaked","revision":"b","until":"2026-12-01T00:00:00Z","reason":"r"}]`, "[", "=", ",", "reason=", "gate=CaughtUp",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, problem := toOverrides(text)
		if problem != nil && len(list) > 0 {
			t.Fatal("both a problem and an override")
		}
		for _, o := range list {
			if o.Reason == "" || o.Revision == "" || o.Until.IsZero() || o.Gate == guard.QuorumAfter {
				t.Fatalf("accepted %+v", o)
			}
		}
	})
}
