package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/bench/figures"
)

func aRun(variant, grace string, number int) Run {
	return Run{
		Key: Key{variant, grace, number}, Setting: Setting{Config: "3 members, \"quoted\"", Machine: "2 cores", Commit: "abc+"},
		Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Leader: 2, Outcome: Finished, Unplanned: 1, Moves: 2, Minimum: 2, Sent: 3000, Failed: 4, Errors: []Count{{"leader changed, x y", 3}, {"deadline", 1}},
		Gap: 1234 * time.Millisecond, GapFrom: 10 * time.Millisecond, P999: 5 * time.Second, Degraded: 7 * time.Second, MostDown: 2, Wall: 12345 * time.Millisecond,
		Healthy: 13 * time.Second, Soaks: 9 * time.Second, Rests: 6 * time.Second, Requests: 50, Writes: 10, Function: 120 * time.Millisecond, Trigger: 30 * time.Millisecond,
		Restarts:  []figures.Restart{{Index: 2, From: 100 * time.Millisecond, Took: 1500 * time.Millisecond}, {Index: 10, From: -20 * time.Millisecond, Took: 2 * time.Second}},
		Elections: []Election{{At: 50 * time.Millisecond, Planned: true}, {At: 3 * time.Second}},
	}
}

func TestARowComesBackAsItWas(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "runs.csv")
	if runs, err := Read(file); err != nil || runs != nil {
		t.Fatalf("before the first: %v, %v", runs, err)
	}
	want := []Run{aRun("native", "term", 0), aRun("direct", "kill", 1)}
	want[1].Restarts, want[1].Elections, want[1].Errors, want[1].Outcome = nil, nil, nil, "the roll has not ended:\nlast seen, \"this\""
	for _, r := range want {
		if err := Append(file, r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(file)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
	// A field without a column would be lost silently.
	if fields := reflect.TypeFor[Run]().NumField() - 2 + reflect.TypeFor[Key]().NumField() + reflect.TypeFor[Setting]().NumField(); fields != len(Columns) {
		t.Errorf("%d fields, %d columns", fields, len(Columns))
	}
}

func TestATableOfOtherColumnsIsNotGoneOnWith(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.csv")
	if err := os.WriteFile(file, []byte("variant,grace\nnative,term\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil {
		t.Error("read all the same")
	}
}

func TestARowThatIsNoneIsAnError(t *testing.T) {
	for i, c := range Columns {
		switch c.at(&Run{}).(type) {
		case *string:
			continue
		}
		var r Run
		if err := Columns[i].decode(&r, "x!+"); err == nil {
			t.Errorf("%s takes anything", c.Name)
		}
	}
}

func TestWritesComeBackAsTheyWere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "writes.csv")
	ms := time.Millisecond
	buckets := Buckets([]figures.Write{
		{At: -1, Took: ms}, {At: 0, Took: 3 * ms}, {At: 99 * ms, Took: 2 * ms}, {At: 250 * ms, Took: 1500 * time.Microsecond},
		{At: 260 * ms, Took: 5 * time.Second, Failed: true}, {At: 270 * ms, Took: 4 * time.Second, Failed: true},
	})
	want := []Bucket{{Acked: 2, Quickest: 2 * ms, Slow: 3 * ms}, {}, {Acked: 1, Quickest: 1500 * time.Microsecond, Slow: 1500 * time.Microsecond, Failed: 2, GaveUp: 5 * time.Second}}
	if !reflect.DeepEqual(buckets, want) {
		t.Fatalf("buckets %+v, want %+v", buckets, want)
	}
	all := []Latency{{Key{"native", "term", 3}, want}, {Key{"direct", "kill", 0}, nil}}
	for _, l := range all {
		if err := AppendLatency(file, l); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := ReadLatency(file); err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestWhatIsMissingIsMadeInTurns(t *testing.T) {
	p := Plan{Runs: 2, Graces: []string{"term", "kill"}, Variants: []string{"a", "b"}}
	have := []Run{aRun("a", "term", 0), aRun("b", "kill", 1), aRun("c", "term", 1), aRun("a", "term", 7)}
	want := []Key{{"b", "term", 0}, {"a", "kill", 0}, {"b", "kill", 0}, {"a", "term", 1}, {"b", "term", 1}, {"a", "kill", 1}}
	if got := p.Missing(have); !reflect.DeepEqual(got, want) {
		t.Errorf("missing %v, want %v", got, want)
	}
	for _, key := range want {
		have = append(have, aRun(key.Variant, key.Grace, key.Number))
	}
	if got := p.Missing(have); len(got) != 0 {
		t.Errorf("missing at the end: %v", got)
	}
}

func TestEveryMemberLeadsEquallyOftenAtTheStart(t *testing.T) {
	count := map[int]int{}
	for n := range 12 {
		count[StartLeader(n, 3)]++
	}
	if count[0] != 4 || count[1] != 4 || count[2] != 4 {
		t.Errorf("%v", count)
	}
}

func TestRowsOfAnotherConfigurationAreNotMixed(t *testing.T) {
	have := []Run{aRun("a", "term", 0)}
	now := have[0].Setting
	now.Commit, now.Machine = "other", "other"
	if err := Comparable(have, now); err != nil {
		t.Error(err)
	}
	now.Config = "other"
	if err := Comparable(have, now); !errors.Is(err, ErrMixed) {
		t.Errorf("mixed: %v", err)
	}
}
