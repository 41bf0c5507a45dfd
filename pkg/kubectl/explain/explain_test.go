package explain_test

import (
	"strings"
	"testing"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/kubectl/explain"
	"github.com/etcdroll/etcdroll/pkg/kubectl/testcluster"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := testcluster.New()
	command := explain.Command(c.Access(t))
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(args)
	err := command.Execute()
	return c.Out.String(), err
}

func TestEveryReasonAndGateIsExplained(t *testing.T) {
	for _, r := range roll.Reasons {
		out, err := run(t, strings.ToLower(string(r.Reason)))
		if err != nil || !strings.Contains(out, r.Meaning) || !strings.Contains(out, r.Remedy) {
			t.Errorf("%s: %v: %s", r.Reason, err, out)
		}
	}
	for _, g := range guard.Gates() {
		out, err := run(t, string(g.Gate))
		if err != nil || !strings.Contains(out, g.Passes) {
			t.Errorf("%s: %v: %s", g.Gate, err, out)
		}
	}
	if out, err := run(t); err != nil || strings.Count(out, "\n") != len(roll.Reasons)+len(guard.Gates()) {
		t.Errorf("the list has %d lines: %v", strings.Count(out, "\n"), err)
	}
}

func TestNearWordsAreNamed(t *testing.T) {
	for word, want := range map[string]string{
		"Unschedulabel": "did you mean Unschedulable?", "sched": "Unschedulable", "PodBrokn": "did you mean PodBroken", "caughtUpp": "CaughtUp",
		"quorum": "NoQuorum", "zzzzzzzz": "lists all of them",
	} {
		if _, err := run(t, word); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", word, err, want)
		}
	}
}
