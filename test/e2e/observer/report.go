package observer

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Mark is a moment from which a report counts.
type Mark struct {
	at         time.Time
	sets, pods int
}

// Mark remembers this moment.
func (o *Observer) Mark() Mark {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Mark{at: time.Now(), sets: len(o.sets), pods: len(o.pods)}
}

// Report is what happened between a mark and now.
type Report struct {
	From, To time.Time
	Final    View

	FirstTerm, LastTerm uint64
	Elections           []Election
	Announced           []Announcement
	Planned             int // elections that an announcement explains
	Unplanned           int // all others; a term that jumps by two counts twice

	Replaced    []Replacement
	Deletions   map[int]int   // pods that went away, by index
	Led         []string      // pods that were released or deleted while their member led
	PodsDown    int           // the most pods not up at one time, from when all were up
	MembersDown int           // the most members that could not be reached at one time
	Degraded    time.Duration // with fewer than all members that can be reached

	Partitions []int    // every value partition had, in order
	Windows    []Window // every time that the set was open
	Steps      int      // accepted writes that moved the record on
}

// Election is a rise of the term.
type Election struct {
	At       time.Time
	From, To uint64 // terms
	Loser    uint64 // member ids; 0 is unknown
	Winner   uint64
	Planned  bool
}

// Replacement is one pod going away and its successor coming up.
type Replacement struct {
	Index                int
	Began, Created, Back time.Time // Back is zero while the successor is not Ready
}

// Window is one time that the set was open: from a partition below replicas to
// one that is not.
type Window struct {
	Opened, Closed time.Time // Closed is zero while it is open
	Partitions     []int
	Released       int      // outdated pods at or above the partition when it opened
	Replaced       []string // pods that went away meanwhile
}

// Report sums up what happened since the mark.
func (o *Observer) Report(from Mark) (Report, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken != nil {
		return Report{}, o.broken
	}
	r := Report{From: from.at, To: time.Now(), Final: o.view(), Deletions: map[int]int{}}
	samples := slices.Clone(o.samples)
	r.Announced = slices.DeleteFunc(slices.Clone(o.announced), func(a Announcement) bool { return a.At.Before(from.at) })
	slices.SortStableFunc(samples, func(a, b Sample) int { return a.At.Compare(b.At) })
	for _, s := range o.sets[from.sets:] {
		if a, ok := s.announcement(); ok && !slices.ContainsFunc(r.Announced, func(b Announcement) bool { return a.Seq == b.Seq }) {
			r.Announced = append(r.Announced, a)
		}
	}
	line := merge(o.sets, o.pods, from)
	r.elections(samples, from.at)
	r.pods(line, o.view().Set.Replicas)
	r.windows(line)
	r.leaders(line, newLeaders(samples))
	return r, nil
}

// change is one entry of the merged history; after says whether it lies after
// the mark.
type change struct {
	set   *SetState
	pod   *PodState
	after bool
}

func (c change) version() uint64 {
	if c.set != nil {
		return c.set.Version
	}
	return c.pod.Version
}

// merge orders sets and pods by resourceVersion. What lies before the mark
// comes first, as the state to start from.
func merge(sets []SetState, pods []PodState, from Mark) []change {
	var line []change
	for i := range sets {
		line = append(line, change{set: &sets[i], after: i >= from.sets})
	}
	for i := range pods {
		line = append(line, change{pod: &pods[i], after: i >= from.pods})
	}
	slices.SortStableFunc(line, func(a, b change) int {
		if a.after != b.after {
			return map[bool]int{false: -1, true: 1}[a.after]
		}
		return cmp.Compare(a.version(), b.version())
	})
	return line
}

// pods follows every pod: deletions, replacements, and how many were down.
func (r *Report) pods(line []change, replicas int) {
	now, whole := map[int]PodState{}, false
	for _, c := range line {
		if c.pod == nil {
			continue
		}
		before := now[c.pod.Index]
		now[c.pod.Index] = *c.pod
		down := 0
		for i := range replicas {
			if !now[i].Up() {
				down++
			}
		}
		whole = whole || down == 0
		if !c.after {
			continue
		}
		if whole {
			r.PodsDown = max(r.PodsDown, down)
		}
		r.follow(before, *c.pod)
	}
}

// leaves says that the pod was staying before and is not now.
func leaves(before, now PodState) bool {
	staying := before.UID == now.UID && !before.Terminating && !before.Gone
	return staying && (now.Terminating || now.Gone)
}

func (r *Report) follow(before, now PodState) {
	switch {
	case leaves(before, now):
		r.Deletions[now.Index]++
		r.Replaced = append(r.Replaced, Replacement{Index: now.Index, Began: now.At})
	case before.UID != now.UID && len(r.Replaced) > 0:
		for i := range r.Replaced {
			if e := &r.Replaced[i]; e.Index == now.Index && e.Created.IsZero() {
				e.Created = now.At
			}
		}
	}
	if now.Up() {
		for i := range r.Replaced {
			if e := &r.Replaced[i]; e.Index == now.Index && !e.Created.IsZero() && e.Back.IsZero() {
				e.Back = now.At
			}
		}
	}
}

// windows follows the lock, and which pods went while it was open.
func (r *Report) windows(line []change) {
	pods := map[int]PodState{}
	var open *Window
	seq := int64(-1)
	for _, c := range line {
		if c.pod != nil {
			if open != nil && c.after && leaves(pods[c.pod.Index], *c.pod) {
				open.Replaced = append(open.Replaced, fmt.Sprintf("%d (%s)", c.pod.Index, c.pod.Revision))
			}
			pods[c.pod.Index] = *c.pod
			continue
		}
		r.steps(c, &seq)
		r.partition(c)
		if s := c.set; !s.Locked() && s.Replicas > 0 {
			if open == nil {
				r.Windows = append(r.Windows, Window{Opened: s.At, Released: outdated(pods, *s)})
				open = &r.Windows[len(r.Windows)-1]
			}
			if n := len(open.Partitions); n == 0 || open.Partitions[n-1] != s.Partition {
				open.Partitions = append(open.Partitions, s.Partition)
			}
		} else if open != nil {
			open.Closed, open = s.At, nil
		}
	}
	// What was opened and closed before the mark is not asked for.
	r.Windows = slices.DeleteFunc(r.Windows, func(w Window) bool { return !w.Closed.IsZero() && w.Closed.Before(r.From) })
}

func (r *Report) steps(c change, seq *int64) {
	now := c.set.Record().Seq
	if c.after && *seq >= 0 && now > *seq {
		r.Steps++
	}
	*seq = now
}

func (r *Report) partition(c change) {
	n := len(r.Partitions)
	switch {
	case !c.after:
		r.Partitions = []int{c.set.Partition}
	case n == 0 || r.Partitions[n-1] != c.set.Partition:
		r.Partitions = append(r.Partitions, c.set.Partition)
	}
}

func outdated(pods map[int]PodState, s SetState) int {
	n := 0
	for i := s.Partition; i < s.Replicas; i++ {
		if p := pods[i]; p.UID != "" && !p.Gone && p.Revision != s.Update {
			n++
		}
	}
	return n
}
