package plan

import (
	"reflect"
	"strings"
	"testing"
)

func TestAPlanIsAFunctionOfSeedAndNumber(t *testing.T) {
	for n := range 200 {
		if a, b := Make(7, n), Make(7, n); !reflect.DeepEqual(a, b) {
			t.Fatalf("round %d:\n%s\n%s", n, a, b)
		}
	}
	if Make(7, 3).String() == Make(8, 3).String() {
		t.Error("two seeds give the same plan")
	}
}

// The rounds of a wave share one control plane, and a lane keeps its set.
func TestWavesShareTheirFaultsAndLanesTheirSets(t *testing.T) {
	for n := range 400 {
		r, first := Make(3, n), Make(3, n/Lanes*Lanes)
		if !reflect.DeepEqual(r.Shared, first.Shared) {
			t.Fatalf("round %d does not share the faults of its wave:\n%s\n%s", n, r, first)
		}
		if r.First != (n/Lanes%Kept == 0) {
			t.Fatalf("round %d: first %v", n, r.First)
		}
		if !r.First && Make(3, n-Lanes).Shape != r.Shape {
			t.Fatalf("round %d has another shape than the set that it keeps", n)
		}
	}
}

func TestEveryKindShapeAndCheckpointOccurs(t *testing.T) {
	kinds, sizes, points, anchors := map[Kind]int{}, map[Shape]int{}, map[string]int{}, map[Anchor]int{}
	for n := range 1000 {
		r := Make(1, n)
		sizes[r.Shape]++
		for _, f := range append(r.Faults, r.Shared...) {
			kinds[f.Kind]++
			points[f.At]++
			anchors[f.When.Anchor]++
		}
	}
	for _, k := range Kinds {
		if kinds[k] < 10 {
			t.Errorf("%s occurs %d times in 1000 rounds", k, kinds[k])
		}
	}
	if len(kinds) != len(Kinds) {
		t.Errorf("%d kinds occur, %d are listed", len(kinds), len(Kinds))
	}
	for _, p := range Checkpoints {
		if points[p] == 0 {
			t.Errorf("the function never dies %s", p)
		}
	}
	for _, a := range []Anchor{Start, Released, Replaced, Moving} {
		if anchors[a] == 0 {
			t.Errorf("nothing is counted from %s", a)
		}
	}
	for _, members := range []int{1, 3, 5} {
		for _, onDelete := range []bool{false, true} {
			if sizes[Shape{members, onDelete, false}]+sizes[Shape{members, onDelete, true}] == 0 {
				t.Errorf("no set of %d members with OnDelete %v", members, onDelete)
			}
		}
	}
}

// What makes no sense is never planned.
func TestPlansMakeSense(t *testing.T) {
	for n := range 2000 {
		r := Make(5, n)
		ills := 0
		for _, f := range r.Faults {
			if ill(f.Kind) {
				ills++
			}
			if f.Whom < Leader || f.Whom >= r.Shape.Members || f.When.Nth > r.Shape.Members || f.For < 0 {
				t.Fatalf("out of range: %s", r)
			}
			if f.Kind == Rotate && !r.Shape.TLS || f.Kind == ResetPartition && r.Shape.OnDelete {
				t.Fatalf("nothing to do it to: %s", r)
			}
			if r.Shape.Members == 1 && (f.Kind == Evict || f.Kind == MoveLeader || f.Kind == Cut) {
				t.Fatalf("not for a single member: %s", r)
			}
		}
		if ills > 1 {
			t.Fatalf("two members ill at once: %s", r)
		}
		if r.Leader < 0 || r.Leader >= r.Shape.Members || len(r.Faults) == 0 {
			t.Fatalf("no roll: %s", r)
		}
	}
}

func TestAPlanIsOneReadableLine(t *testing.T) {
	for n := range 500 {
		text := Make(11, n).String()
		if strings.ContainsAny(text, "\n") || strings.Contains(text, "%!") {
			t.Fatal(text)
		}
		for _, f := range Make(11, n).Faults {
			if !strings.Contains(text, string(f.Kind)) || !strings.Contains(text, f.When.String()) {
				t.Fatalf("%s does not tell of %s", text, f.Kind)
			}
		}
	}
}
