// Package timeline merges all that is known of a round into one list by time,
// for people.
package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

type entry struct {
	at   time.Time
	who  string
	text string
}

// Of is the timeline of a round and of what was found in it, in seconds from
// its start.
func Of(r judge.Record, v judge.Verdict) string {
	var all []entry
	add := func(at time.Time, who, format string, args ...any) {
		if !at.Before(r.Started.Add(-time.Second)) {
			all = append(all, entry{at, who, fmt.Sprintf(format, args...)})
		}
	}
	add(r.Started, "owner", "changes the template")
	for _, i := range r.Incidents {
		add(i.From, "FAULT", "%s, member %d", i.Fault, i.Member)
		add(i.To, "heal", "%s %s", i.Fault.Kind, i.Note)
	}
	for _, e := range r.Report.Elections {
		add(e.At, "ELECTION", "term %d -> %d, member %x -> %x, planned %v", e.From, e.To, e.Loser, e.Winner, e.Planned)
	}
	for _, e := range v.Explained {
		add(e.Election.At, "because", "%s", e.By)
	}
	for _, f := range v.Findings {
		add(f.At, "BROKEN "+f.Invariant, "%s", f.Text)
	}
	sets(r.History.Sets, add)
	pods(r.History.Pods, add)
	members(r.History.Samples, add)
	add(r.Settled, "settled", "converged and locked")
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "%8.3f  %-12s %s\n", e.at.Sub(r.Started).Seconds(), e.who, e.text)
	}
	return b.String()
}

type adder func(at time.Time, who, format string, args ...any)

func sets(states []observer.SetState, add adder) {
	var was observer.SetState
	for n, s := range states {
		if n > 0 {
			for _, line := range setChanges(was, s) {
				add(s.At, "set", "%s", line)
			}
		}
		was = s
	}
}

func setChanges(was, s observer.SetState) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if s.Partition != was.Partition {
		say("partition %d -> %d", was.Partition, s.Partition)
	}
	if s.Update != was.Update {
		say("target %s", s.Update)
	}
	if a, b := s.Record(), was.Record(); a.Seq != b.Seq {
		step := "none in flight"
		if a.Step != nil {
			step = fmt.Sprintf("%s %d", a.Step.Kind, a.Step.Index)
		}
		say("step %d: %s", a.Seq, step)
	}
	for _, key := range []string{events.AnnotationPhase, events.AnnotationReason, events.AnnotationPaused, events.AnnotationConvergedRevision, events.AnnotationResume, events.AnnotationHaltID} {
		if s.Annotations[key] != was.Annotations[key] {
			say("%s %q", strings.TrimPrefix(key, events.Prefix), s.Annotations[key])
		}
	}
	return lines
}

func pods(states []observer.PodState, add adder) {
	was := map[int]observer.PodState{}
	for _, p := range states {
		b, known := was[p.Index]
		was[p.Index] = p
		switch {
		case !known:
		case b.UID != p.UID:
			add(p.At, "pod", "%d created on %s", p.Index, p.Revision)
		case p.Gone != b.Gone:
			add(p.At, "pod", "%d gone", p.Index)
		case p.Terminating != b.Terminating:
			add(p.At, "pod", "%d terminating", p.Index)
		case p.Ready != b.Ready:
			add(p.At, "pod", "%d ready %v", p.Index, p.Ready)
		case p.Restarts != b.Restarts:
			add(p.At, "pod", "%d restarted", p.Index)
		}
	}
}

func members(samples []observer.Sample, add adder) {
	was := map[int]string{}
	for _, s := range samples {
		state := "answers"
		if s.Down {
			state = "is out of reach"
		} else if s.Slow {
			state = "does not answer in time"
		}
		if before, known := was[s.Index]; known && before != state {
			add(s.At, "member", "%d %s", s.Index, state)
		}
		was[s.Index] = state
	}
}
