package ledger

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
)

func row(seed int64, round int) Row {
	return Row{Seed: seed, Round: round, Shape: "3 ratchet TLS", Faults: []string{string(plan.Freeze), string(plan.Lose)}, Took: 12500 * time.Millisecond,
		Planned: 2, Explained: 1, Acked: 250, Broken: []string{}, When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func TestRowsOfSeveralRunsAddUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rounds.csv")
	want := []Row{row(1, 0), row(1, 1), row(2, 0)}
	want[1].Broken, want[1].Unplanned, want[1].Lost = []string{"Elections", "Writes"}, 1, 1
	for _, r := range want {
		if err := Append(file, r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("read\n%+v\nwant\n%+v", got, want)
	}
	tables := Tables(got)
	for _, line := range []string{"| rounds | 3 |", "| seeds | 2 |", "| rounds with a broken invariant | 1 |", "| of these lost | 1 |",
		"| other elections, unexplained | 1 |", "| writes acknowledged | 750 |", "| 3 ratchet TLS | 3 |", "| freeze-member | 3 |", "| cut-member | 0 |", "| a round took, mean | 12.5s |",
		"| 1 | 1 | 3 ratchet TLS | Elections, Writes |"} {
		if !strings.Contains(tables, line) {
			t.Errorf("no %q in\n%s", line, tables)
		}
	}
}

func TestARowHasWhatTheJudgeFound(t *testing.T) {
	r := judge.Record{Plan: plan.Make(1, 2), Acked: 7, Incidents: []judge.Incident{{Fault: plan.Fault{Kind: plan.Cut}}}}
	got := Of(r, judge.Verdict{Planned: 2, Findings: []judge.Finding{{Invariant: "Writes"}, {Invariant: "I1"}, {Invariant: "Elections"}}})
	if got.Lost != 1 || got.Unplanned != 1 || got.Planned != 2 || got.Acked != 7 || !reflect.DeepEqual(got.Broken, []string{"Writes", "I1", "Elections"}) {
		t.Errorf("%+v", got)
	}
}

func TestOnlyTheFiguresOfTheDocumentAreReplaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chaos.md")
	if err := os.WriteFile(file, []byte("above\n"+begin+"outworn\n"+end+"below\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it can be done again
		if err := Document(file, []Row{row(1, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	if !strings.HasPrefix(s, "above\n") || !strings.HasSuffix(s, "below\n") || strings.Contains(s, "outworn") || strings.Count(s, "| rounds | 1 |") != 1 {
		t.Error(s)
	}
	if err := os.WriteFile(file, []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	if Document(file, nil) == nil {
		t.Error("a document without a place for figures is no error")
	}
}
