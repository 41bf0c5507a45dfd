package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

func text(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

var (
	reasonRow = regexp.MustCompile(`(?m)^\| ([A-Z]\w+) \| .* \| (.*) \|$`)
	alertName = regexp.MustCompile(`alert: (\w+)`)
)

// Whatever a set may stand still for has a line in the runbooks, and nothing that
// is no reason has one.
func TestEveryReasonHasARunbook(t *testing.T) {
	_, table, found := strings.Cut(text(t, "docs/runbooks.md"), "\n## By reason\n")
	if !found {
		t.Fatal("docs/runbooks.md has no section By reason")
	}
	listed := map[string]bool{}
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.HasPrefix(cells[1], "-") || strings.TrimSpace(cells[1]) == "reason" {
			continue
		}
		for _, reason := range strings.Split(cells[1], ",") {
			listed[strings.TrimSpace(reason)] = true
		}
	}
	rows := reasonRow.FindAllStringSubmatch(text(t, "docs/reasons.md"), -1)
	if len(rows) < 30 {
		t.Fatalf("only %d reasons were found", len(rows))
	}
	for _, row := range rows {
		if needsNothing := row[2] == "Nothing to do."; !listed[row[1]] && !needsNothing {
			t.Errorf("%s has a remedy and no line in docs/runbooks.md", row[1])
		}
		delete(listed, row[1])
	}
	for left := range listed {
		t.Errorf("docs/runbooks.md has a line for %s, which is no reason", left)
	}
}

// An alert leads to its section, and the sections lead on to the reasons.
func TestEveryAlertIsReachable(t *testing.T) {
	runbooks := documents(t)["docs/runbooks.md"]
	alerts := alertName.FindAllStringSubmatch(text(t, "config/monitoring/alerts.yaml"), -1)
	if len(alerts) == 0 {
		t.Fatal("no alerts were found")
	}
	for _, alert := range alerts {
		if !runbooks.Anchors[strings.ToLower(alert[1])] {
			t.Errorf("%s has no section in docs/runbooks.md", alert[1])
		}
	}
	if !strings.Contains(strings.Join(runbooks.Links, " "), "reasons.md") {
		t.Error("docs/runbooks.md does not lead to docs/reasons.md")
	}
}

// The reasons that documents speak of are reasons.
func TestReasonsInTheDocumentsExist(t *testing.T) {
	for _, reason := range []roll.Reason{roll.ReasonPartitionContention, roll.ReasonNoQuorum, roll.ReasonNeverBootstrapped, roll.ReasonCredentialsInvalid, roll.ReasonMembershipPending} {
		if roll.Explain(reason).Remedy == "" {
			t.Errorf("%s has no remedy", reason)
		}
		if !strings.Contains(text(t, "docs/operations.md")+text(t, "docs/migration.md"), string(reason)) {
			t.Errorf("no document speaks of %s", reason)
		}
	}
}
