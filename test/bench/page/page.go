// Package page writes the document from the rows, and nothing else.
package page

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etcdroll/etcdroll/test/bench/ledger"
)

// Variant is what the document says of one.
type Variant struct {
	Name, Title string
	Moves       bool // moves leadership by itself
	Etcdroll    bool
	Broker      bool
	Identity    bool // has one of its own at the API server
}

// Files are what is read and written.
type Files struct {
	Page, Runs, Latency, Pictures string
}

// In are the files below a directory.
func In(dir string) Files {
	below := filepath.Join(dir, "benchmarks")
	return Files{Page: filepath.Join(dir, "benchmarks.md"), Runs: filepath.Join(below, "runs.csv"), Latency: filepath.Join(below, "writes.csv"), Pictures: below}
}

// Graces and what they are called.
var graces = []struct{ name, title string }{{"term", "With SIGTERM"}, {"kill", "With lost grace"}}

// Write writes the document and its pictures from the rows that are there.
func Write(f Files, variants []Variant) error {
	runs, err := ledger.Read(f.Runs)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return fmt.Errorf("there are no rows in %s", f.Runs)
	}
	latency, err := ledger.ReadLatency(f.Latency)
	if err != nil {
		return err
	}
	drawn, err := draw(f.Pictures, runs, latency, variants)
	if err != nil {
		return err
	}
	return os.WriteFile(f.Page, []byte(Render(runs, variants, drawn)), 0o644)
}

// Render is the document. drawn says which graces have a picture.
func Render(runs []ledger.Run, variants []Variant, drawn []string) string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString(circumstances(runs, variants))
	b.WriteString("## Targets\n\nOf etcdroll, for every run with either grace:\n\n")
	var names []string
	for _, g := range graces {
		names = append(names, g.name)
	}
	b.WriteString(targetTable(runs, variants, names))
	for _, g := range graces {
		if !slices.ContainsFunc(runs, func(r ledger.Run) bool { return r.Grace == g.name }) {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", g.title)
		b.WriteString(table(runs, variants, g.name))
		b.WriteString(failures(runs, variants, g.name))
		b.WriteString(inWords(runs, variants, g.name))
		if slices.Contains(drawn, g.name) {
			fmt.Fprintf(&b, "\n![Latency of the writes over time, one panel for each variant](benchmarks/writes-%s.svg)\n\n%s", g.name, caption)
		}
	}
	b.WriteString(beyond(runs, variants, names))
	b.WriteString(definitions)
	for _, c := range ledger.Columns {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.Name, c.Meaning)
	}
	return b.String()
}

// Meant is how many runs of each variant with each grace there should be.
const Meant = 10

// circumstances are how many runs there are, and where they come from.
func circumstances(runs []ledger.Run, variants []Variant) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%d runs**, %s. ", len(runs), perCell(runs, variants))
	var odd []string
	for _, r := range runs {
		if r.Outcome != ledger.Finished {
			odd = append(odd, fmt.Sprintf("%s with %s, run %d: %s", r.Variant, r.Grace, r.Number, strings.ReplaceAll(r.Outcome, "\n", " ")))
		}
	}
	if len(odd) == 0 {
		b.WriteString("Every one of them came to its end, and every acknowledged write was found afterwards.\n\n")
	} else {
		fmt.Fprintf(&b, "%d did not come to a good end and are in no figure below:\n\n", len(odd))
		for _, line := range odd {
			fmt.Fprintf(&b, "- %s\n", line)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s. Machine: %s. Measured at commit %s.\n\n", distinct(runs, func(r ledger.Run) string { return r.Config }),
		distinct(runs, func(r ledger.Run) string { return r.Machine }), distinct(runs, func(r ledger.Run) string { return r.Commit }))
	return b.String()
}

// perCell is how many runs there are of each variant with each grace, and
// whether that is fewer than meant.
func perCell(runs []ledger.Run, variants []Variant) string {
	var counts []int
	for _, g := range graces {
		for _, v := range variants {
			counts = append(counts, len(slices.DeleteFunc(slices.Clone(runs), func(r ledger.Run) bool { return r.Variant != v.Name || r.Grace != g.name })))
		}
	}
	least, most := slices.Min(counts), slices.Max(counts)
	text := fmt.Sprintf("%d to %d of each variant with each grace", least, most)
	if least == most {
		text = fmt.Sprintf("%d of each variant with each grace", least)
	}
	if least < Meant {
		text += fmt.Sprintf("; meant are %d, so this is a part", Meant)
	}
	return text
}

// distinct lists the values, each with its number of runs if there are several.
func distinct(runs []ledger.Run, of func(ledger.Run) string) string {
	var order []string
	count := map[string]int{}
	for _, r := range runs {
		if count[of(r)] == 0 {
			order = append(order, of(r))
		}
		count[of(r)]++
	}
	if len(order) == 1 {
		return order[0]
	}
	for i, value := range order {
		order[i] = fmt.Sprintf("%s (%d runs)", value, count[value])
	}
	return strings.Join(order, "; ")
}
