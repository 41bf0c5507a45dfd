package choreography

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// notebook are hands that write down what they are told.
type notebook struct {
	leader int
	lines  []string
	fails  string // the line at which it fails
}

func (n *notebook) note(format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	n.lines = append(n.lines, line)
	if line == n.fails {
		return errors.New("refused")
	}
	return nil
}

func (n *notebook) Partition(_ context.Context, value int) error {
	return n.note("partition %d", value)
}
func (n *notebook) Delete(_ context.Context, index int) error   { return n.note("delete %d", index) }
func (n *notebook) Replaced(_ context.Context, index int) error { return n.note("replaced %d", index) }
func (n *notebook) Healthy(context.Context) error               { return n.note("healthy") }
func (n *notebook) Rest(context.Context) error                  { return n.note("rest") }
func (n *notebook) Leader(context.Context) (int, error)         { return n.leader, nil }

func (n *notebook) Lead(_ context.Context, index int) error {
	if n.leader == index {
		return nil
	}
	n.leader = index
	return n.note("lead %d", index)
}

func TestTheFixedChoreographyIsTheSameWhereverLeadershipBegins(t *testing.T) {
	const roll = "partition 2,replaced 2,healthy,rest,partition 1,replaced 1,healthy,rest,lead 2,partition 0,replaced 0,healthy,rest,partition 3"
	for leader, want := range []string{roll, "lead 0," + roll, "lead 0," + roll} {
		n := &notebook{leader: leader}
		if err := Fixed(t.Context(), n, 3); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(n.lines, ","); got != want {
			t.Errorf("leader %d:\n%s, want\n%s", leader, got, want)
		}
	}
}

func TestTheFixedChoreographyKnowsOtherSizes(t *testing.T) {
	for members, want := range map[int]string{
		1: "partition 0,replaced 0,healthy,rest,partition 1",
		2: "partition 1,replaced 1,healthy,rest,lead 1,partition 0,replaced 0,healthy,rest,partition 2",
	} {
		n := &notebook{}
		if err := Fixed(t.Context(), n, members); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(n.lines, ","); got != want {
			t.Errorf("%d members: %s, want %s", members, got, want)
		}
	}
}

func TestTheLeaderIsDeletedLastAndNothingMoves(t *testing.T) {
	for leader, want := range []string{
		"delete 2,replaced 2,delete 1,replaced 1,delete 0,replaced 0",
		"delete 2,replaced 2,delete 0,replaced 0,delete 1,replaced 1",
		"delete 1,replaced 1,delete 0,replaced 0,delete 2,replaced 2",
	} {
		n := &notebook{leader: leader}
		if err := LeaderLast(t.Context(), n, 3); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(n.lines, ","); got != want {
			t.Errorf("leader %d: %s, want %s", leader, got, want)
		}
	}
}

// Whatever goes wrong, nothing comes after it: a script that fails leaves
// everything as it is.
func TestNothingComesAfterAFailure(t *testing.T) {
	for name, script := range map[string]func(context.Context, Hands, int) error{"fixed": Fixed, "leader last": LeaderLast} {
		whole := &notebook{leader: 1}
		if err := script(t.Context(), whole, 3); err != nil {
			t.Fatal(err)
		}
		for i, line := range whole.lines {
			if slices.Contains(whole.lines[:i], line) {
				continue // it fails the first time
			}
			n := &notebook{leader: 1, fails: line}
			if err := script(t.Context(), n, 3); err == nil || len(n.lines) != i+1 {
				t.Errorf("%s: %q failed, and after it came %v (%v)", name, line, n.lines[i+1:], err)
			}
		}
	}
}
