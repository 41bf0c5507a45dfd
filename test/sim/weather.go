package sim

import (
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// lostFor is how long a lost node stays away, in ticks.
const lostFor = 60

// condition is an odd state of the cluster that lasts for a while.
type condition uint8

const (
	fair condition = iota
	noSpace
	corruptAlarm
	unreadAlarms
	learner
	unstarted
	noBudget
	fullDatabase
	shortGrace
	minorSkipped
	badConfig
	badCredentials
	splitView
	blackout
	corruptMember
	unmanaged
	oddShape
	conditions
)

// conditionNames are for timelines.
var conditionNames = [conditions]string{
	"fair", "alarm NOSPACE", "alarm CORRUPT", "alarms cannot be read", "a learner", "a member that never started",
	"the disruption budget allows none", "databases are full", "the grace period is zero", "the template skips a minor version",
	"the configuration is bad", "the credentials are bad", "members disagree", "a majority of nodes is lost",
	"a member is corrupt", "the label is gone", "maxUnavailable is 2",
}

func (c condition) String() string { return conditionNames[c] }

// weather is the condition that holds now.
type weather struct {
	now   condition
	until int
}

// blow lets things break by themselves.
func (w *world) blow() {
	w.returnNodes()
	if w.weather.now != fair && (w.tick >= w.weather.until || !w.rough) {
		w.clearWeather()
	}
	if !w.rough {
		return
	}
	if w.weather.now == fair && w.goes(oddWeather) {
		w.beginWeather(condition(w.between(1, int(conditions)-1)))
	}
	i := w.IntN(w.n())
	p := &w.pods[i]
	if w.goes(evictPod) && p.exists && !p.terminating {
		w.tellIf("somebody evicts " + podName(i))
		w.noteEviction()
		w.deletePod(i, byOthers)
	}
	if w.goes(failPod) && p.running && !p.terminating && !p.failed {
		w.tellIf("the kubelet evicts " + podName(i))
		w.noteEviction()
		w.stopMember(i)
		p.failed, p.ready, p.running, p.readyChange = true, false, false, w.tick
		p.rv++
	}
	if w.goes(loseNode) {
		w.lose(i, w.between(lostFor/2, lostFor))
	}
}

func (w *world) noteEviction() {
	if w.set.episode != nil {
		w.set.episode.evicted = true
	}
}

func (w *world) lose(i, ticks int) {
	if w.nodeBack[i] == 0 {
		w.tellIf("the node of " + podName(i) + " is lost")
		w.nodeBack[i] = w.tick + ticks
		w.members[i].cut = true
	}
}

func (w *world) returnNodes() {
	for i := range w.nodeBack {
		if w.nodeBack[i] > 0 && (w.tick >= w.nodeBack[i] || !w.rough) {
			w.nodeBack[i], w.members[i].cut = 0, false
			w.members[i].lag += 100
			if w.leader == i || w.n() == 1 {
				w.members[i].lag = 0
			}
			w.tellIf("the node of " + podName(i) + " is back")
		}
	}
}

func (w *world) beginWeather(c condition) {
	w.weather = weather{c, w.tick + w.between(8, 80)}
	if w.telling() {
		w.tell("odd condition begins: %s", c)
	}
	switch c {
	case blackout:
		for i := range w.n()/2 + 1 {
			w.lose(i, w.between(10, 40))
		}
	case corruptMember:
		w.members[w.IntN(w.n())].corrupt = true
	case unmanaged:
		w.set.managed = false
		w.set.rv++
	case oddShape:
		w.set.maxUnavailable = 2
		w.set.gen++
		w.set.rv++
	}
}

func (w *world) clearWeather() {
	w.tellIf("the odd condition is over")
	switch w.weather.now {
	case corruptMember:
		for i := range w.members {
			w.members[i].corrupt = false
		}
	case unmanaged:
		w.set.managed = true
		w.set.rv++
	case oddShape:
		w.set.maxUnavailable = 1
		w.set.gen++
		w.set.rv++
	}
	w.weather = weather{}
}

// onObjects is how the condition looks in what the API server tells.
func (c weather) onObjects(o *roll.Observed) {
	switch c.now {
	case noBudget:
		o.Budget = guard.Budget{Read: guard.Yes, Found: true, Name: "etcd"}
	case shortGrace:
		o.Template.Grace = 0
	case minorSkipped:
		o.Template.Version = "3.8.0"
	case badConfig:
		o.Config = &roll.ConfigProblem{Reason: roll.ReasonConfigInvalid, Message: "unknown key"}
	case badCredentials:
		o.Config = &roll.ConfigProblem{Reason: roll.ReasonCredentialsInvalid, Message: "no such secret"}
	}
}

// onMembers is how the condition looks to who asks the members.
func (c weather) onMembers(w *world, o *roll.Observed) {
	switch c.now {
	case noSpace:
		o.Alarms = []guard.Alarm{{Member: memberID(0), Kind: guard.AlarmNoSpace, Text: "NOSPACE"}}
	case corruptAlarm:
		o.Alarms = []guard.Alarm{{Member: memberID(0), Kind: guard.AlarmCorrupt, Text: "CORRUPT"}}
	case unreadAlarms:
		o.AlarmsRead = guard.Unknown
	case fullDatabase:
		for i := range o.Members {
			o.Members[i].DBSize = o.Members[i].Quota
		}
	case splitView:
		for i := range o.Members {
			if o.Members[i].Reached && i%2 == 1 {
				o.Members[i].Leader, o.Members[i].Term = memberID(i), o.Members[i].Term+1
			}
		}
	}
}

// peers is the member list in every member's view.
func (c weather) peers(n int) []guard.Peer {
	if c.now == fair || (c.now != learner && c.now != unstarted) {
		return fullPeers[n]
	}
	list := append([]guard.Peer(nil), fullPeers[n]...)
	extra := guard.Peer{ID: 0xabc, Name: "new", Learner: c.now == learner}
	if c.now == unstarted {
		extra.Name = ""
	}
	return append(list, extra)
}

// fullPeers are the member lists of clusters without guests, by size.
var fullPeers = func() [mostMembers + 1][]guard.Peer {
	var lists [mostMembers + 1][]guard.Peer
	for n := range lists {
		for i := range n {
			lists[n] = append(lists[n], guard.Peer{ID: memberID(i), Name: podName(i)})
		}
	}
	return lists
}()
