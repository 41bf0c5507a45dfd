package roll

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// Describe tells the decision in one line, for logs, transcripts and people.
func Describe(d Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s", d.Outcome, d.Reason, d.Message)
	if w := d.Write; w != nil && w.SetPartition {
		fmt.Fprintf(&b, "; partition becomes %d", w.Partition)
	}
	switch d.Effect.Kind {
	case MoveLeader:
		fmt.Fprintf(&b, "; ask member %s to hand over to %s", d.Effect.From, d.Effect.To)
	case DeletePod:
		fmt.Fprintf(&b, "; delete the pod at index %d", d.Effect.Index)
	}
	return b.String()
}

// sentence joins the objections of a verdict, without those that only repeat
// that a member did not answer.
func sentence(verdict guard.Verdict) string {
	var parts []string
	for _, f := range verdict.Objections() {
		if f.Echo {
			continue
		}
		note := ""
		if f.Note != "" {
			note = "; " + f.Note
		}
		parts = append(parts, fmt.Sprintf("%s: %s (wants: %s%s)", f.Gate, f.Measured, f.Threshold, note))
	}
	return orWords(strings.Join(parts, "; "), "no gate objects")
}

func orWords(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// soakLeft is when the youngest pod will have soaked, at most ten seconds on:
// a clock that jumps must not make us sleep.
func (v *view) soakLeft() time.Duration {
	need := v.o.Limits.Soak(v.o.Set.MinReady)
	left := time.Duration(0)
	for i := range v.o.Set.Indexes() {
		left = max(left, need-guard.SoakedFor(v.o.Snapshot, i))
	}
	return min(v.untilSecond(left), 10*time.Second)
}

// untilSecond is when a time that is left will be over. The clock we read and
// the stamps we compare it with are whole seconds, so that the time is over at the
// beginning of a second; without the hint we would come half a second late, and up to
// a whole one. A hint that is wrong costs no more than none.
func (v *view) untilSecond(left time.Duration) time.Duration {
	if left <= 0 {
		return soon
	}
	return max(left-v.o.Into+grain, grain)
}
