package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/chaos/sabotage"
)

// Something else that is broken is told, and does not count.
func TestOnlyTheExpectedInvariantEndsTheSearch(t *testing.T) {
	ended := 0
	b := &bite{Sabotage: sabotage.Sabotage{Name: "lock", Finds: "I3"}, enough: func() { ended++ }}
	b.heard(plan.Round{Seed: 2, Number: 4}, judge.Verdict{})
	b.heard(plan.Round{Seed: 2, Number: 5}, judge.Verdict{Findings: []judge.Finding{{Invariant: "I8", Text: "it is open"}}})
	if ended != 0 || !strings.Contains(b.said(), "NOT FOUND") {
		t.Fatalf("ended %d times: %s", ended, b.said())
	}
	two := []judge.Finding{{Invariant: "I3", Text: "pods [2 1] went"}, {Invariant: "I3", Text: "and more"}}
	b.heard(plan.Round{Seed: 2, Number: 6}, judge.Verdict{Findings: two})
	if want := "without lock: found in seed 2 round 6 by I3: pods [2 1] went"; ended != 1 || b.said() != want {
		t.Errorf("ended %d times: %s, want %s", ended, b.said(), want)
	}
}

func TestRoundsWithoutARuleAreThoseThatMeetIt(t *testing.T) {
	odd := sabotage.Sabotage{Meets: func(r plan.Round) bool { return r.Number%2 == 1 }}
	if got := (options{rounds: 3, from: 4}).chosen(odd.Meets); !reflect.DeepEqual(got, []int{5, 7, 9}) {
		t.Errorf("rounds %v", got)
	}
	if got := (options{rounds: 3, only: numbers{2}}).chosen(odd.Meets); !reflect.DeepEqual(got, []int{2}) {
		t.Errorf("the round that was asked for: %v", got)
	}
}

func TestWhatIsMadeWithoutARuleIsNoFigure(t *testing.T) {
	for want, o := range map[string]options{
		"leave out -csv":     {without: "lock", csv: "rows.csv", parallel: 1},
		"leave out -csv and": {without: every, doc: "chaos.md", parallel: 1},
		"is none of":         {without: "luck", parallel: 1},
	} {
		if ok, err := o.do(t.Context()); ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

func TestARoundWithoutARuleIsMadeAgainWithoutIt(t *testing.T) {
	th := &theatre{options: options{without: "lock"}}
	if again := th.replay(plan.Round{Seed: 3, Number: 9}); again != "go run ./test/chaos -seed 3 -round 9 -without lock" {
		t.Error(again)
	}
}
