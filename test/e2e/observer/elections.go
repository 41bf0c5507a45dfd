package observer

import (
	"fmt"
	"slices"
	"time"
)

// An announced call may come this long after its announcement, and the watch
// that showed us the announcement may lag behind the members by this much.
const (
	callWithin = 15 * time.Second
	watchLag   = 2 * time.Second
)

// elections finds every rise of the term and which of them were announced.
func (r *Report) elections(samples []Sample, from time.Time) {
	named := leaderOfTerm(samples)
	used := map[int64]bool{}
	term := uint64(0)
	for _, s := range samples {
		if !s.Answered() {
			continue
		}
		if s.Term > term && term > 0 && !s.At.Before(from) {
			e := Election{At: s.At, From: term, To: s.Term, Loser: named[term], Winner: named[s.Term]}
			e.Planned = r.explained(e, used)
			r.count(e)
		}
		term = max(term, s.Term)
		if s.At.Before(from) || r.FirstTerm == 0 {
			r.FirstTerm = term
		}
	}
	r.LastTerm = term
}

// leaderOfTerm is the leader that most answers of a term name; 0 if none does.
// A term has one leader, but a member takes notice of leader and term one after
// the other, so an answer in between names the new leader with the old term.
func leaderOfTerm(samples []Sample) map[uint64]uint64 {
	votes := map[uint64]map[uint64]int{}
	for _, s := range samples {
		if !s.Answered() || s.Leader == 0 {
			continue
		}
		if votes[s.Term] == nil {
			votes[s.Term] = map[uint64]int{}
		}
		votes[s.Term][s.Leader]++
	}
	named := map[uint64]uint64{}
	for term, leaders := range votes {
		for leader, n := range leaders {
			if n > leaders[named[term]] {
				named[term] = leader
			}
		}
	}
	return named
}

// explained finds the announcement of just this move; each explains one.
func (r *Report) explained(e Election, used map[int64]bool) bool {
	for _, a := range r.Announced {
		inTime := e.At.After(a.At.Add(-watchLag)) && e.At.Before(a.At.Add(callWithin))
		// In a short term the loser may have gone unseen.
		if !used[a.Seq] && inTime && e.Winner == a.To && (e.Loser == a.From || e.Loser == 0) {
			used[a.Seq] = true
			return true
		}
	}
	return false
}

func (r *Report) count(e Election) {
	r.Elections = append(r.Elections, e)
	rises := int(e.To - e.From)
	if e.Planned {
		r.Planned++
		rises--
	}
	r.Unplanned += rises
}

// leaders is who led when.
type leaders struct {
	samples []Sample
	members map[int]uint64
}

func newLeaders(samples []Sample) leaders {
	l := leaders{samples: samples, members: map[int]uint64{}}
	for _, s := range samples {
		if s.Answered() {
			l.members[s.Index] = s.ID
		}
	}
	return l
}

// at is the leader of the highest term that anybody had named by then.
func (l leaders) at(when time.Time) uint64 {
	term, leader := uint64(0), uint64(0)
	for _, s := range l.samples {
		if s.At.After(when) {
			break
		}
		if s.Answered() && s.Leader != 0 && s.Term >= term {
			term, leader = s.Term, s.Leader
		}
	}
	return leader
}

func (l leaders) leads(index int, when time.Time) bool {
	id := l.members[index]
	return id != 0 && l.at(when) == id
}

// leaders finds pods that were given up while their member led, and the most
// members that were out of reach at one time.
func (r *Report) leaders(line []change, l leaders) {
	pods := map[int]PodState{}
	partition := -1
	for _, c := range line {
		switch {
		case c.pod != nil:
			if c.after && leaves(pods[c.pod.Index], *c.pod) && l.leads(c.pod.Index, c.pod.At) {
				r.Led = append(r.Led, fmt.Sprintf("pod %d was deleted while its member led", c.pod.Index))
			}
			pods[c.pod.Index] = *c.pod
		case c.after && c.set.Partition != partition && !c.set.Locked():
			for i := c.set.Partition; i < c.set.Replicas; i++ {
				if pods[i].Revision != c.set.Update && l.leads(i, c.set.At) {
					r.Led = append(r.Led, fmt.Sprintf("pod %d was released while its member led", i))
				}
			}
		}
		if c.set != nil {
			partition = c.set.Partition
		}
	}
	away := absences(l.samples, r.From)
	r.MembersDown, r.Degraded = mostDown(away), degraded(away)
}

// mostDown is the most members that were out of reach at one time. A member is
// for certain from the first sample in vain to the last before it answers again:
// how long the connection then takes to come back says nothing about it.
func mostDown(absences []absence) int {
	type edge struct {
		at time.Time
		by int
	}
	var edges []edge
	for _, a := range absences {
		edges = append(edges, edge{a.first, 1}, edge{a.last.Add(1), -1})
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.by
		most = max(most, now)
	}
	return most
}

// degraded is how long at least one member was away, until it answered again.
func degraded(absences []absence) time.Duration {
	absences = slices.SortedFunc(slices.Values(absences), func(a, b absence) int { return a.first.Compare(b.first) })
	var total time.Duration
	var until time.Time
	for _, a := range absences {
		from := a.first
		if from.Before(until) {
			from = until
		}
		if a.back.After(from) {
			total += a.back.Sub(from)
			until = a.back
		}
	}
	return total
}

// absence is a time in which a member could not be reached: its first and its
// last sample in vain, and the first answer after them, or the last sample of
// all where there was none.
type absence struct{ first, last, back time.Time }

func absences(samples []Sample, from time.Time) []absence {
	var all []absence
	away := map[int]*absence{}
	for _, s := range samples {
		a := away[s.Index]
		switch {
		case s.At.Before(from) || s.Slow:
		case s.Down && a == nil:
			away[s.Index] = &absence{s.At, s.At, time.Time{}}
		case s.Down:
			a.last = s.At
		case a != nil:
			a.back = s.At
			all = append(all, *a)
			delete(away, s.Index)
		}
	}
	for _, a := range away {
		a.back = samples[len(samples)-1].At
		all = append(all, *a)
	}
	return all
}

// Moves are the planned elections.
func (r Report) Moves() []Election {
	return slices.DeleteFunc(slices.Clone(r.Elections), func(e Election) bool { return !e.Planned })
}
