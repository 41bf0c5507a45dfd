package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
)

// frame is what is shown at one moment.
type frame struct {
	title   string
	after   time.Duration
	phase   string
	thought thought
	lock    string
	report  observer.Report
	tally   writer.Tally
	members []member
}

// member is one row.
type member struct {
	name, revision, version, ready, role, behind string
}

const redrawEvery = 250 * time.Millisecond

// show draws frames until the context ends, and a last one then.
func (s *scene) show(ctx context.Context, a *actors, mark observer.Mark, began time.Time, t *thoughts) {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	defer s.screen.rest()
	for {
		last := ctx.Err() != nil
		if f, err := a.frame(mark, began, t.latest()); err == nil {
			s.screen.draw(f)
		}
		if last {
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (a *actors) frame(mark observer.Mark, began time.Time, now thought) (frame, error) {
	report, err := a.observer.Report(mark)
	if err != nil {
		return frame{}, err
	}
	set := report.Final.Set
	f := frame{
		title: fmt.Sprintf("%s rolls %s/%s", a.name, a.set.Namespace, a.set.Name), after: time.Since(began),
		phase: set.Annotations[events.AnnotationPhase], thought: now, report: report, tally: a.writer.Tally(began),
		lock: fmt.Sprintf("partition %d of %d, %s", set.Partition, set.Replicas, lockWord(set)),
	}
	furthest := uint64(0)
	for i := range set.Replicas {
		answer, _ := a.observer.Member(i)
		furthest = max(furthest, answer.Applied)
	}
	for i := range set.Replicas {
		f.members = append(f.members, a.member(report.Final.Pods[i], set, furthest))
	}
	return f, nil
}

func lockWord(s observer.SetState) string {
	if s.Locked() {
		return "locked"
	}
	return "open"
}

func (a *actors) member(pod observer.PodState, set observer.SetState, furthest uint64) member {
	m := member{name: a.set.PodName(pod.Index), revision: "old", version: a.version[pod.Revision], ready: "no", role: "-", behind: "-"}
	if pod.Revision == set.Update {
		m.revision = "new"
	}
	switch {
	case pod.UID == "" || pod.Gone:
		m.revision, m.version, m.ready = "-", "-", "missing"
	case pod.Terminating:
		m.ready = "ending"
	case pod.Ready:
		m.ready = "yes"
	}
	answer, answers := a.observer.Member(pod.Index)
	if !answers || pod.Gone || pod.UID == "" {
		return m
	}
	m.version, m.role = answer.Version, "follower"
	if answer.Leader == answer.ID {
		m.role = "LEADER"
	}
	m.behind = strconv.FormatUint(furthest-min(furthest, answer.Applied), 10)
	return m
}
