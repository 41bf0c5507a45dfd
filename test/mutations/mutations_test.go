package mutations

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

var update = flag.Bool("update", false, "write docs/mutations.md")

// TestEveryRemovedRuleIsNoticed runs each test with the product as it is, where
// it has to pass, and with its rule taken away, where it has to fail: by its
// own judgement, not for want of a build or by a crash.
func TestEveryRemovedRuleIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the product once for each mutation")
	}
	t.Run("as it is", func(t *testing.T) {
		for _, pkg := range packages() {
			t.Run(pkg, func(t *testing.T) { t.Parallel(); passes(t, pkg) })
		}
	})
	results := make([]string, len(All))
	t.Run("mutated", func(t *testing.T) {
		for i, m := range All {
			t.Run(fmt.Sprintf("%s %d", m.Case, i), func(t *testing.T) { t.Parallel(); results[i] = notices(t, m) })
		}
	})
	table(t, results)
}

func packages() []string {
	var list []string
	for _, m := range All {
		if !slices.Contains(list, m.Package) {
			list = append(list, m.Package)
		}
	}
	return list
}

// passes runs all tests that the package is to notice with, unmutated.
func passes(t *testing.T, pkg string) {
	var patterns, names []string
	for _, m := range All {
		if m.Package == pkg && !slices.Contains(names, m.runnable()) {
			patterns, names = append(patterns, m.pattern()), append(names, m.runnable())
		}
	}
	r, err := run(t.Context(), pkg, strings.Join(patterns, "|"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !r.passed[name] {
			t.Errorf("%s %s does not pass on the product as it is:\n%s", pkg, name, r.output)
		}
	}
}

// notices says in a word for the table what came of it.
func notices(t *testing.T, m Mutation) string {
	overlay, err := m.mutated(t.TempDir())
	if err != nil {
		t.Error(err)
		return unnoticed
	}
	r, err := run(t.Context(), m.Package, m.pattern(), overlay)
	switch {
	case err != nil:
		t.Error(err)
	case !r.built || strings.Contains(r.output, "[build failed]"):
		t.Errorf("%s: the mutation does not compile:\n%s", m.Rule, r.output)
	case strings.Contains(r.output, "panic:"):
		t.Errorf("%s: a crash is no judgement:\n%s", m.Rule, r.output)
	case !r.failed[m.runnable()]:
		t.Errorf("%s %s passes without this rule: %s\n%s", m.Package, m.Test, m.Rule, r.output)
	default:
		return "noticed by"
	}
	return unnoticed
}

const unnoticed = "NOT noticed by"

// table prints what was found, case by case; what was not run is left out.
func table(t *testing.T, results []string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, m := range All {
		if results[i] != "" {
			fmt.Fprintf(w, "%s\t%s\t%s %s\n", m.Case, m.Rule, results[i], m.Test)
		}
	}
	_ = w.Flush()
	t.Logf("rules taken away one by one:\n%s", b.String())
}

// TestEveryNamedCaseHasAMutationThatCanBeMade is the quick half: the ids are
// complete, and each rule's text is found where the list says.
func TestEveryNamedCaseHasAMutationThatCanBeMade(t *testing.T) {
	ids := regexp.MustCompile(`[A-Z]{2}-?\d\d`)
	covered := map[string]bool{}
	for _, m := range All {
		covered[m.Case] = true
		if _, err := m.mutated(t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.Case, err)
		}
		if named := strings.ReplaceAll(ids.FindString(m.Test), "-", ""); named != strings.ReplaceAll(m.Case, "-", "") {
			t.Errorf("%s is noticed by a test that does not name it: %s", m.Case, m.Test)
		}
	}
	for _, id := range Cases {
		if !covered[id] {
			t.Errorf("%s has no mutation", id)
		}
	}
}

func TestDocumentIsGeneratedFromTheList(t *testing.T) {
	text := document()
	path := filepath.Join(Root, "docs", "mutations.md")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != text {
		t.Errorf("docs/mutations.md is not what the list says (%v); run make generate", err)
	}
}

func document() string {
	var b strings.Builder
	b.WriteString("# Rules taken away\n\n<!-- Generated from test/mutations by `make generate`; do not edit. -->\n\n" +
		"What each of these cases rests on in the product. `make test-mutations` takes the text out, in an overlay and one at a time,\n" +
		"and fails unless the named test passes with it and fails without it.\n\n" +
		"| case | rule | where | text taken out | put in | noticed by |\n|---|---|---|---|---|---|\n")
	for _, m := range All {
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s | `%s`: %s |\n", m.Case, m.Rule, m.File, code(m.Find), code(m.Replace), strings.TrimPrefix(m.Package, "./"), m.Test)
	}
	return b.String()
}

// code is source text in a cell of a table.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "nothing"
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}
