package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
)

// result is what one roll came to, as seen from outside.
type result struct {
	observer.Report
	name, leader string
	tally        writer.Tally
	samples      []writer.Sample
}

// print shows the receipt of the guided roll.
func (r result) print(s *screen) {
	set := r.Final.Set
	s.line("")
	s.line("receipt")
	s.line("  steps                  %d", r.Steps)
	s.line("  planned leader moves   %d", r.Planned)
	s.line("  unplanned elections    %d (term %d to %d)", r.Unplanned, r.FirstTerm, r.LastTerm)
	s.line("  longest write gap      %s", gap(r.tally))
	s.line("  failed writes          %d of %d", r.tally.Failed, r.tally.Sent)
	for _, e := range r.Replaced {
		s.line("  %s-%d                 away for %s", "etcd", e.Index, seconds(e.Back.Sub(e.Began)))
	}
	s.line("  partition              %s", joined(r.Partitions))
	s.line("  final partition        %d of %d, %s", set.Partition, set.Replicas, lockWord(set))
	for _, key := range []string{events.AnnotationPhase, events.AnnotationConvergedRevision, events.AnnotationConverged} {
		s.line("  %-38s %s", key, set.Annotations[key])
	}
}

// broken lists the promises that this roll did not keep.
func (r result) broken() []string {
	var broken []string
	must := func(kept bool, format string, args ...any) {
		if !kept {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	must(r.Unplanned == 0, "%d unplanned elections", r.Unplanned)
	must(r.PodsDown <= 1 && r.MembersDown <= 1, "%d pods and %d members were down at one time", r.PodsDown, r.MembersDown)
	must(r.Final.Set.Locked(), "the set ended open at partition %d", r.Final.Set.Partition)
	must(r.Final.Settled(), "the set did not end converged: %s", r.Final)
	broken = append(broken, r.Led...)
	for i := range r.Final.Set.Replicas {
		must(r.Deletions[i] == 1, "pod %d was replaced %d times", i, r.Deletions[i])
	}
	return broken
}

// compare prints both rolls side by side.
func compare(s *screen, a, b result) {
	s.line("")
	s.line("  %-34s %14s %14s", "", a.name, b.name)
	row := func(what string, of func(result) string) { s.line("  %-34s %14s %14s", what, of(a), of(b)) }
	row("leader at the start", func(r result) string { return r.leader })
	row("elections that nobody planned", func(r result) string { return strconv.Itoa(r.Unplanned) })
	row("leader moves before a restart", func(r result) string { return strconv.Itoa(r.Planned) })
	row("leading members taken down", func(r result) string { return strconv.Itoa(taken(r)) })
	row("most members down at one time", func(r result) string { return strconv.Itoa(max(r.PodsDown, r.MembersDown)) })
	row("longest write gap", func(r result) string { return gap(r.tally) })
	row("failed writes", func(r result) string { return fmt.Sprintf("%d of %d", r.tally.Failed, r.tally.Sent) })
	row("time", func(r result) string { return seconds(r.To.Sub(r.From)) })
	row("the next template change finds it", func(r result) string { return lockWord(r.Final.Set) })
	s.line("")
	for _, l := range aside {
		s.line("  %s", l)
	}
	s.line("")
}

// aside keeps the figures from being read for more than they say.
var aside = []string{
	"On a healthy cluster both gaps are short: an etcd that is told to stop in time hands leadership over by itself.",
	"The native update does so blindly. It asks nobody whether a quorum is left, whether the last member has caught up",
	"or who leads; a member that gets no time to stop costs an election timeout. Failed writes are those in flight while",
	"leadership changes; this writer does not try again. docs/benchmarks.md has many rolls of each kind, also without time.",
}

// taken counts pods that went while their member led; a release of the same pod
// is not counted again.
func taken(r result) int {
	return len(slices.DeleteFunc(slices.Clone(r.Led), func(l string) bool { return !strings.Contains(l, "deleted") }))
}

func millis(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// gap is the longest time without an acknowledged write. Shorter ones than the
// writer takes note of are told as such, and not as none.
func gap(t writer.Tally) string {
	if t.Longest.Took == 0 {
		return "under " + millis(writer.Notable)
	}
	return millis(t.Longest.Took)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func joined(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, " ")
}
