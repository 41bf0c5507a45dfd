package roll

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

var update = flag.Bool("update", false, "write the generated documents")

const generated = "<!-- Generated from the code by `make generate`; do not edit. -->\n\n"

// The documents of gates and reasons say what the code says, word for word.
func TestDocumentsAreGeneratedFromTheLists(t *testing.T) {
	for name, text := range map[string]string{"gates.md": gatesDocument(), "reasons.md": reasonsDocument()} {
		path := filepath.Join("..", "..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(path)
		if err != nil || string(have) != text {
			t.Errorf("docs/%s is not what the code says (%v); run make generate", name, err)
		}
	}
}

func gatesDocument() string {
	var b strings.Builder
	b.WriteString("# Gates\n\n" + generated + "All gates are evaluated for every step and every objection is reported. A hard gate cannot be overridden;\na soft one can, by name, for one target revision, with an expiry and a reason.\n\n| gate | passes when | kind |\n|---|---|---|\n")
	for _, g := range guard.Gates() {
		kind := "hard"
		if g.Kind == guard.Soft {
			kind = "soft"
		}
		if g.Gate == guard.AlarmsAbsent {
			kind = "hard, soft for NOSPACE"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", g.Gate, g.Passes, kind)
	}
	return b.String()
}

func reasonsDocument() string {
	var b strings.Builder
	b.WriteString("# Reasons\n\n" + generated + "The annotation `etcdroll.dev/reason`, the events and the logs use these words and no others.\n\n| reason | meaning | what to do |\n|---|---|---|\n")
	for _, r := range Reasons {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Reason, r.Meaning, r.Remedy)
	}
	return b.String()
}

func TestEveryReasonIsExplainedOnce(t *testing.T) {
	seen := map[Reason]bool{}
	for _, r := range Reasons {
		if seen[r.Reason] || !strings.HasSuffix(r.Meaning, ".") || !strings.HasSuffix(r.Remedy, ".") {
			t.Errorf("%s: listed twice, or not a sentence each", r.Reason)
		}
		seen[r.Reason] = true
	}
	source, err := os.ReadFile("reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(source), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 4 && fields[1] == "Reason" && fields[2] == "=" {
			if r := Reason(strings.Trim(fields[3], `"`)); !seen[r] {
				t.Errorf("%s is not explained", r)
			}
		}
	}
}
