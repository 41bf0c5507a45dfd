package cases

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/cases.md")

const root = "../.."

// A test names a case in its function's name (TestSS01_...) or in the text of
// a table (`"SS-01"`).
var (
	function = regexp.MustCompile(`^func (Test\w*)\(`)
	inName   = regexp.MustCompile(`(SS|ET|KN|CG|PU|GO)(\d\d)`)
	inText   = regexp.MustCompile(`"[^"]*\b(SS|ET|KN|CG|PU|GO)-(\d\d)\b`)
)

// places finds the tests of each case.
func places(t *testing.T) map[string][]string {
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/cases") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		collect(found, dir, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func collect(found map[string][]string, dir, text string) {
	current := ""
	add := func(id string) {
		if place := "`" + dir + "`: " + current; current != "" && !slices.Contains(found[id], place) {
			found[id] = append(found[id], place)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if m := function.FindStringSubmatch(line); m != nil {
			current = m[1]
			for _, id := range inName.FindAllStringSubmatch(current, -1) {
				add(id[1] + "-" + id[2])
			}
		} else if strings.HasPrefix(line, "func ") {
			current = ""
		}
		for _, id := range inText.FindAllStringSubmatch(line, -1) {
			add(id[1] + "-" + id[2])
		}
	}
}

func TestEveryCaseIsTestedAndDocumented(t *testing.T) {
	found := places(t)
	var b strings.Builder
	b.WriteString("# Cases from the field\n\n<!-- Generated from test/cases and the tests by `make generate`; do not edit. -->\n\nFor the cases that matter most [mutations.md](mutations.md) shows that their tests fail once the rule is taken out of the product.\n\n| id | situation | what is guaranteed | tested by |\n|---|---|---|---|\n")
	known := map[string]bool{}
	for _, c := range All {
		known[c.ID] = true
		if len(found[c.ID]) == 0 {
			t.Errorf("%s has no test: %s", c.ID, c.Situation)
		}
		slices.Sort(found[c.ID])
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.ID, c.Situation, c.Guarantee, strings.Join(found[c.ID], "<br>"))
	}
	for id := range found {
		if !known[id] {
			t.Errorf("a test names %s, which is no known case", id)
		}
	}
	path := filepath.Join(root, "docs", "cases.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != b.String() {
		t.Errorf("docs/cases.md is not what the tests say (%v); run make generate", err)
	}
}
