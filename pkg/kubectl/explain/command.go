// Package explain tells what a reason or a gate means and what to do about it,
// from the lists that the code itself uses.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
)

// Text is what is known of a word.
type Text struct {
	Word    string `json:"word"`
	Kind    string `json:"kind"` // reason or gate
	Meaning string `json:"meaning"`
	Remedy  string `json:"remedy,omitempty"`
}

// Command is `explain`.
func Command(a *access.Access) *cobra.Command {
	var out access.Output
	c := &cobra.Command{
		Use: "explain [REASON|GATE]", Short: "Tell what a reason or a gate means and what to do about it",
		Long: `Reasons are in the annotation etcdroll.dev/reason, in events and in logs; gates
are named in messages. Without an argument all of them are listed.

Exit codes: 0 explained, 1 no such word (near ones are named).`,
		Example: "  kubectl etcdroll explain Unschedulable",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return words(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return run(a, out, args) },
	}
	access.OutputFlag(c, &out, access.JSON, access.YAML)
	return c
}

func run(a *access.Access, out access.Output, args []string) error {
	list := texts()
	if len(args) > 0 {
		found, err := find(list, args[0])
		if err != nil {
			return err
		}
		list = found
	}
	if out.Structured() {
		return a.Encode(out, map[string]any{"items": list})
	}
	style := a.Style()
	for _, t := range list {
		a.Print(style.Wrap("", "  ", t.Word+" ("+t.Kind+"): "+t.Meaning))
		if t.Remedy != "" && len(args) > 0 {
			a.Print(style.Wrap("What to do: ", "  ", t.Remedy))
		}
	}
	return nil
}

// texts are all words: the reasons in the order a roll meets them, then the
// gates in the order in which they are asked.
func texts() []Text {
	var list []Text
	for _, t := range roll.Reasons {
		list = append(list, Text{string(t.Reason), "reason", t.Meaning, t.Remedy})
	}
	for _, g := range guard.Gates() {
		kind := "It is hard: it cannot be overridden."
		if g.Kind == guard.Soft {
			kind = "It is soft: annotation etcdroll.dev/override can name it, for one revision, with an expiry and a reason; docs/runbooks.md has the command."
		}
		list = append(list, Text{string(g.Gate), "gate", "passes when " + g.Passes + ".", kind})
	}
	return list
}

func words() []string {
	var names []string
	for _, t := range texts() {
		names = append(names, t.Word)
	}
	return names
}

// find ignores case. For a word that is not listed it names near ones.
func find(list []Text, word string) ([]Text, error) {
	var found []Text
	for _, t := range list {
		if strings.EqualFold(t.Word, word) {
			found = append(found, t)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	near := nearest(word)
	if len(near) == 0 {
		return nil, fmt.Errorf("%q is no reason and no gate: kubectl etcdroll explain lists all of them", word)
	}
	return nil, fmt.Errorf("%q is no reason and no gate: did you mean %s?", word, strings.Join(near, ", "))
}

// nearest are at most three words that contain the given one, or differ from
// it by few letters.
func nearest(word string) []string {
	word = strings.ToLower(word)
	type candidate struct {
		name     string
		distance int
	}
	var list []candidate
	for _, name := range words() {
		lower := strings.ToLower(name)
		d := distance(word, lower)
		if len(word) >= 3 && (strings.Contains(lower, word) || strings.Contains(word, lower)) {
			d = 0
		}
		if d <= max(2, len(word)/3) {
			list = append(list, candidate{name, d})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range list[:min(3, len(list))] {
		names = append(names, c.name)
	}
	return names
}

// distance is how many letters must be put in, left out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
