package sabotage

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/mutations"
)

const root = "../../.."

// Each text is found where the table says, and what is left compiles.
func TestEachSabotageCanBeMade(t *testing.T) {
	for _, s := range All {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			overlay, err := mutations.Overlay(root, t.TempDir(), s.Edits...)
			if err != nil {
				t.Fatal(err)
			}
			var altered []string
			for _, e := range s.Edits {
				if e.Find == e.Replace {
					t.Errorf("nothing is taken away from %s", e.File)
				}
				if pkg := "./" + filepath.ToSlash(filepath.Dir(e.File)); !slices.Contains(altered, pkg) {
					altered = append(altered, pkg)
				}
			}
			command := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", overlay}, altered...)...)
			command.Dir = root
			if said, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}

func TestEachInvariantThatARollCanBreakAtOnceHasASabotage(t *testing.T) {
	names, finds := map[string]bool{}, map[string]bool{}
	for _, s := range All {
		if names[s.Name] || s.Name == "all" || strings.ContainsAny(s.Name, " /") {
			t.Errorf("%q is no name, or not the only one", s.Name)
		}
		names[s.Name], finds[s.Finds] = true, true
	}
	for _, invariant := range []string{"I1", "I2", "I3", "I8", "I9", "I10"} {
		if !finds[invariant] {
			t.Errorf("no sabotage breaks %s", invariant)
		}
	}
	if got, ok := Named("nothing of the kind"); ok {
		t.Errorf("found %s", got.Name)
	}
}

// Whatever the plan gives a round, those that meet the missing rule are many.
func TestEnoughRoundsMeetEach(t *testing.T) {
	for _, s := range All {
		met := 0
		for n := range 200 {
			if s.Meets(plan.Make(1, n)) {
				met++
			}
		}
		if met < 40 {
			t.Errorf("%s is met by %d of 200 rounds", s.Name, met)
		}
	}
}

func TestTheDocumentListsThem(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "chaos.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## What it finds\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("there is no such section")
	}
	var got []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "|") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{"| without | the rule | found by |", "|---|---|---|"}
	for _, s := range All {
		want = append(want, fmt.Sprintf("| %s | %s | %s |", s.Name, s.Rule, s.Finds))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the list should be\n%s", strings.Join(want, "\n"))
	}
}
