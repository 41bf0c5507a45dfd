package sim

import (
	"encoding/json"
	"time"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

const setUID = "set-uid"

// readSet is the first GET. A stale one answers for set and pods from the
// same moment in the past.
func (w *world) readSet(f *function) {
	f.phase, f.readAt, f.nowAt, f.podsAt, f.truly = readPods, w.tick, w.tick, w.tick, true
	f.set = w.set
	if w.goes(staleRead) {
		back := w.between(1, min(30, w.tick))
		f.set, f.podsAt, f.truly = w.past[(w.tick-back)%frames].set, w.tick-back, false
	}
}

// readPods is the GETs of the pods, after that of the set: what they show is
// at least as new as the set whose resourceVersion fences the write.
func (w *world) readPods(f *function) {
	first := 0
	if f.phase == readRest {
		first = w.n() / 2
	}
	from := &w.pods
	if !f.truly {
		from = &w.past[f.podsAt%frames].pods
	}
	for i := first; i < w.n(); i++ {
		f.pods[i] = from[i]
	}
	if f.phase == readPods && f.truly && w.goes(splitProbe) {
		f.phase, f.wakeAt = readRest, w.tick+w.between(1, 4)
		return
	}
	f.phase = decideFirst
	w.observe(f)
}

// observe builds what the decision sees, members excepted.
func (w *world) observe(f *function) {
	s := &f.set
	o := &f.obs
	*o = roll.Observed{Ask: f.ask, Status: s.status, Paused: s.paused, Release: s.release, ResumeToken: s.resume, ClaimsPartition: s.claims}
	o.Now = w.clock(f.readAt)
	if s.record != nil {
		o.Record = w.annotated(*s.record)
	}
	o.Limits = w.limits
	o.Set = guard.Set{
		Namespace: "db", Name: "etcd", UID: setUID, Managed: s.managed, Deleting: s.deleting,
		Generation: s.gen, ObservedGeneration: s.seenGen,
		Strategy: w.strategy, Management: w.management, MaxUnavailable: s.maxUnavailable,
		Replicas: s.replicas, StatusReplicas: s.counted, Partition: s.partition,
		CurrentRevision: revisionName(s.current), UpdateRevision: revisionName(s.update), MinReady: w.minReady,
	}
	if w.overridden {
		o.Overrides = softOverrides(o.Set.UpdateRevision)
	}
	if w.strategy == guard.OnDelete {
		o.Set.Partition = 0
	}
	o.Pods = make([]guard.Pod, s.replicas)
	for i := range o.Pods {
		o.Pods[i] = w.seenPod(&f.pods[i])
	}
	o.Budget = guard.Budget{Read: guard.Yes}
	o.Template = guard.Template{Data: guard.Persistent, Grace: 30 * time.Second}
	if f.truly {
		w.weather.onObjects(o)
	}
}

// clock is what the API server says it is.
func (w *world) clock(tick int) time.Time {
	now := w.at(tick)
	if w.skewed {
		now = now.Add(time.Duration(w.between(-4, 4)) * tickLength)
	}
	if w.coarse {
		now = now.Truncate(time.Second)
	}
	return now
}

// softOverrides is somebody in a hurry.
func softOverrides(revision string) []guard.Override {
	var list []guard.Override
	for _, g := range []guard.Gate{guard.Soaked, guard.TermStable, guard.Headroom, guard.DisruptionBudget, guard.TemplateLint} {
		list = append(list, guard.Override{Gate: g, Revision: revision, Until: epoch.Add(24 * time.Hour), Reason: "in a hurry"})
	}
	return list
}

// annotated passes the record through its annotation in some walks.
func (w *world) annotated(r roll.Record) roll.Record {
	if !w.stored {
		return r
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	var back roll.Record
	if err := json.Unmarshal(text, &back); err != nil {
		panic(err)
	}
	return back
}

func (w *world) seenPod(p *pod) guard.Pod {
	if !p.exists {
		return guard.Pod{}
	}
	g := guard.Pod{
		Exists: true, Owned: true, UID: uidName(p.uid), Revision: revisionName(p.revision),
		Terminating: p.terminating, Ready: p.running && p.ready && !p.failed,
		ReadyChanged: w.stamp(p.readyChange), Created: w.stamp(p.created), Trouble: p.trouble,
	}
	if p.running {
		g.Started = w.stamp(p.started)
	}
	return g
}

// probe asks the members, all at once or in two halves with time between.
func (w *world) probe(f *function) {
	first, last := 0, w.n()
	switch {
	case f.phase == probeRest:
		first = w.n() / 2
		f.phase = decideAgain
	case w.n() > 1 && w.goes(splitProbe):
		last = w.n() / 2
		f.phase, f.wakeAt = probeRest, w.tick+w.between(1, 6)
		w.beginProbe(f)
	default:
		f.phase = decideAgain
		w.beginProbe(f)
	}
	for i := first; i < last; i++ {
		w.askMember(f, i)
	}
	if f.phase == probeRest {
		return
	}
	f.nowAt = w.tick
	f.obs.Now = w.clock(f.nowAt)
	if f.truly {
		w.weather.onMembers(w, &f.obs)
	}
}

func (w *world) beginProbe(f *function) {
	o := &f.obs
	o.Probed, o.AlarmsRead, o.Auth = true, guard.Yes, guard.No
	o.Members = make([]guard.Member, f.set.replicas)
	o.Commit = 0
	if w.leader >= 0 && !w.goes(flakyProbe) {
		o.Commit = w.commit
	}
}

func (w *world) askMember(f *function, i int) {
	m := &w.members[i]
	f.asked[i], f.led[i], f.well[i] = true, w.leader == i, m.up() && m.lag <= near
	f.going[i] = f.gone(w, i)
	g := &f.obs.Members[i]
	if !m.up() || w.goes(flakyProbe) {
		g.Problem = guard.Unreachable
		return
	}
	*g = guard.Member{
		Reached: true, ID: memberID(i), Cluster: 0xc1, Term: m.term, Version: "3.6.16",
		Peers: w.weather.peers(w.n()), DBSize: 1 << 20, Quota: 1 << 31,
	}
	if m.leader >= 0 {
		g.Leader = memberID(m.leader)
	}
	applied := w.commit - min(m.lag, w.commit)
	g.Last = guard.Sample{Applied: applied, Revision: int64(applied)}
	if m.corrupt {
		g.Last.Revision--
	}
	g.First = g.Last
	if w.quorate() && w.leader >= 0 && m.lag < 1000 {
		g.Read = guard.Yes
	} else {
		g.Read = guard.No
	}
}
