package observer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// history builds an observer's memory by hand. Every entry is one second, and
// one resourceVersion, after the one before.
type history struct {
	o    *Observer
	tick int
}

func begin() *history {
	h := &history{o: &Observer{changed: make(chan struct{})}}
	h.set(3)
	for i := range 3 {
		h.pod(i, "old", "a", true)
	}
	for i := range 3 {
		h.member(i, 1, 5)
	}
	return h
}

func (h *history) next() (time.Time, uint64) {
	h.tick++
	return at(float64(h.tick)), uint64(h.tick)
}

func (h *history) set(partition int, notes ...string) *history {
	when, version := h.next()
	s := SetState{At: when, Version: version, Replicas: 3, Partition: partition, Update: "b", Current: "a", Annotations: map[string]string{}}
	if len(notes) > 0 {
		s.Annotations[events.AnnotationRollout] = notes[0]
	}
	h.o.sets = append(h.o.sets, s)
	return h
}

func (h *history) pod(index int, uid, revision string, ready bool) *history {
	when, version := h.next()
	h.o.pods = append(h.o.pods, PodState{At: when, Version: version, Index: index, UID: uid + fmt.Sprint(index), Revision: revision, Ready: ready})
	return h
}

func (h *history) ends(index int, uid string) *history {
	when, version := h.next()
	h.o.pods = append(h.o.pods, PodState{At: when, Version: version, Index: index, UID: uid + fmt.Sprint(index), Revision: "a", Ready: true, Terminating: true})
	return h
}

func (h *history) member(index int, leader, term uint64) *history {
	when, _ := h.next()
	h.o.samples = append(h.o.samples, Sample{At: when, Index: index, ID: uint64(index), Leader: leader, Term: term})
	return h
}

func (h *history) down(index int) *history {
	when, _ := h.next()
	h.o.samples = append(h.o.samples, Sample{At: when, Index: index, Down: true})
	return h
}

func (h *history) mark() Mark {
	return Mark{at: at(float64(h.tick) + 0.5), sets: len(h.o.sets), pods: len(h.o.pods)}
}

func (h *history) report(t *testing.T, m Mark) Report {
	t.Helper()
	r, err := h.o.Report(m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const announced = `{"seq":7,"step":{"kind":"move","index":1,"from":"1","to":"2"}}`

const announcedLater = `{"seq":8,"step":{"kind":"move","index":1,"from":"1","to":"3"}}`

func TestAnElectionIsPlannedOnlyIfThisVeryMoveWasAnnounced(t *testing.T) {
	for _, c := range []struct {
		name               string
		happens            func(*history)
		planned, unplanned int
	}{
		{"announced", func(h *history) { h.set(3, announced).member(0, 2, 6) }, 1, 0},
		{"announced, seen without a leader first", func(h *history) { h.set(3, announced).member(0, 0, 6).member(0, 2, 6) }, 1, 0},
		{"announced, leader noticed before the term", func(h *history) { h.set(3, announced).member(1, 2, 5).member(0, 2, 6) }, 1, 0},
		{"announced for another leader", func(h *history) {
			h.set(3, announced).member(0, 2, 6).set(3, announcedLater).member(0, 3, 7).member(0, 3, 7)
		}, 1, 1},
		{"not announced", func(h *history) { h.set(3).member(0, 2, 6) }, 0, 1},
		{"another winner", func(h *history) { h.set(3, announced).member(0, 3, 6) }, 0, 1},
		{"no winner", func(h *history) { h.set(3, announced).member(0, 0, 6) }, 0, 1},
		{"two terms", func(h *history) { h.set(3, announced).member(0, 2, 7) }, 1, 1},
		{"announced once, moved twice", func(h *history) { h.set(3, announced).member(0, 2, 6).member(0, 1, 7).member(0, 2, 8) }, 1, 2},
		{"long after", func(h *history) {
			h.set(3, announced)
			h.tick += 20
			h.member(0, 2, 6)
		}, 0, 1},
		{"before", func(h *history) { h.member(0, 2, 6).down(1).down(1).down(1).set(3, announced) }, 0, 1},
	} {
		h := begin()
		m := h.mark()
		c.happens(h)
		r := h.report(t, m)
		if r.Planned != c.planned || r.Unplanned != c.unplanned || r.FirstTerm != 5 {
			t.Errorf("%s: %d planned, %d unplanned from term %d, want %d and %d from 5", c.name, r.Planned, r.Unplanned, r.FirstTerm, c.planned, c.unplanned)
		}
	}
}

func TestElectionsBeforeTheMarkAreNotCounted(t *testing.T) {
	h := begin().member(0, 2, 9)
	m := h.mark()
	h.member(1, 2, 9)
	if r := h.report(t, m); len(r.Elections) != 0 || r.FirstTerm != 9 {
		t.Errorf("%+v from term %d", r.Elections, r.FirstTerm)
	}
}

func TestALeadersPodThatGoesIsNoticed(t *testing.T) {
	h := begin()
	m := h.mark()
	h.set(2).ends(2, "old")
	if r := h.report(t, m); len(r.Led) != 0 || r.Deletions[2] != 1 {
		t.Errorf("a follower: %v, %v", r.Led, r.Deletions)
	}
	h.set(1).ends(1, "old")
	if r := h.report(t, m); len(r.Led) != 2 {
		t.Errorf("the leader, released and deleted: %v", r.Led)
	}
}

func TestAReleasedLeaderCountsOnlyIfItsPodCanBeReplaced(t *testing.T) {
	h := begin()
	m := h.mark()
	h.pod(1, "old", "b", true).set(1)
	if r := h.report(t, m); len(r.Led) != 0 {
		t.Errorf("on target: %v", r.Led)
	}
	h.set(3).pod(1, "old", "a", true).set(0)
	if r := h.report(t, m); len(r.Led) != 1 {
		t.Errorf("outdated, below it another index: %v", r.Led)
	}
}

func TestTwoAwayAtOneTimeAreNoticed(t *testing.T) {
	h := begin()
	m := h.mark()
	h.ends(2, "old").down(2)
	if r := h.report(t, m); r.PodsDown != 1 || r.MembersDown != 1 {
		t.Errorf("one away: %d pods, %d members", r.PodsDown, r.MembersDown)
	}
	h.ends(0, "old").down(0)
	if r := h.report(t, m); r.PodsDown != 2 || r.MembersDown != 1 {
		t.Errorf("the second one may have come back by then: %d pods, %d members", r.PodsDown, r.MembersDown)
	}
	h.down(2)
	if r := h.report(t, m); r.PodsDown != 2 || r.MembersDown != 2 {
		t.Errorf("two away: %d pods, %d members", r.PodsDown, r.MembersDown)
	}
}

func TestWhatAnOpenSetLosesIsCountedByOpening(t *testing.T) {
	h := begin()
	m := h.mark()
	h.set(2).ends(2, "old").pod(2, "new", "b", false).set(3).pod(2, "new", "b", true)
	h.set(0).ends(1, "old").ends(0, "old").set(3)
	r := h.report(t, m)
	if len(r.Windows) != 2 || r.Windows[0].Released != 1 || len(r.Windows[0].Replaced) != 1 {
		t.Fatalf("windows %+v", r.Windows)
	}
	if w := r.Windows[1]; w.Released != 2 || len(w.Replaced) != 2 || w.Closed.IsZero() {
		t.Errorf("the second opening: %+v", w)
	}
	if want := []int{3, 2, 3, 0, 3}; !slices.Equal(r.Partitions, want) {
		t.Errorf("partition went %v, want %v", r.Partitions, want)
	}
	if e := r.Replaced[0]; e.Index != 2 || e.Created.IsZero() || e.Back.IsZero() {
		t.Errorf("replacement %+v", e)
	}
}

// The order is that of the resourceVersions, not that of arrival: two watches
// deliver independently of each other.
func TestHistoryIsOrderedByResourceVersion(t *testing.T) {
	h := begin()
	m := h.mark()
	h.set(2).ends(2, "old").pod(2, "new", "b", false).set(3)
	late := h.o.pods[len(h.o.pods)-2:]
	for i := range late { // seen after the lock was seen
		late[i].At = at(1000)
	}
	if r := h.report(t, m); len(r.Windows) != 1 || len(r.Windows[0].Replaced) != 1 {
		t.Errorf("windows %+v", r.Windows)
	}
}

func TestStepsAreAcceptedWritesThatMovedTheRecordOn(t *testing.T) {
	h := begin()
	h.set(3, `{"seq":4}`)
	m := h.mark()
	h.set(3, `{"seq":4}`).set(2, `{"seq":5}`).set(3, `{"seq":6}`).set(3, `{"seq":6}`)
	if r := h.report(t, m); r.Steps != 2 {
		t.Errorf("%d steps, want 2", r.Steps)
	}
}

func TestTheTimeWithFewerThanAllMembersIsCountedOnce(t *testing.T) {
	h := begin()
	m := h.mark()
	h.down(0).down(1).down(0).member(0, 2, 5).down(1).member(1, 2, 5) // two at a time, five seconds in all
	h.down(2).member(2, 2, 5)
	if r := h.report(t, m); r.Degraded != 6*time.Second || r.MembersDown != 2 {
		t.Errorf("%s with fewer than all, %d down at one time", r.Degraded, r.MembersDown)
	}
}

func TestAMoveOfAnybodyIsPlannedIfItWasAnnounced(t *testing.T) {
	h := begin()
	h.o.announced = []Announcement{{At: at(0), Seq: -1, From: 1, To: 3}}
	m := h.mark()
	h.o.announced = append(h.o.announced, Announcement{At: at(float64(h.tick + 1)), Seq: -2, From: 1, To: 2})
	h.member(0, 2, 6).member(0, 3, 7)
	if r := h.report(t, m); r.Planned != 1 || r.Unplanned != 1 {
		t.Errorf("%d planned, %d unplanned; the announcement of before must not count", r.Planned, r.Unplanned)
	}
}
