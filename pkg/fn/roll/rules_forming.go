package roll

import (
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// nothingOutdated: a set that is forming, or one whose pod is away on its
// own account.
func nothingOutdated(v *view) (Decision, bool) {
	if v.neverBootstrapped() {
		return v.block(ReasonNeverBootstrapped, -1, nil, "no pod has become Ready and no member answers"), true
	}
	if v.highestOutdated() >= 0 {
		return Decision{}, false
	}
	verdict := v.judge(guard.NoVictim).Only(guard.HealthGates...)
	if v.standsStill() {
		return v.block(ReasonForming, -1, verdict, sentence(verdict)), true
	}
	return v.wait(ReasonForming, -1, steady, sentence(verdict)), true
}

// standsStill says that waiting has been tried: a pod is in a trouble that
// does not pass, or none has changed for the ready timeout. Without a step of
// ours there is no deadline to miss, but silence would not be an answer.
func (v *view) standsStill() bool {
	var last time.Time
	for i := range v.o.Set.Indexes() {
		pod := v.o.Pod(i)
		if !pod.Ready && v.stuck(pod) {
			return true
		}
		for _, at := range []time.Time{pod.Created, pod.UpSince()} {
			if at.After(last) {
				last = at
			}
		}
	}
	return v.since(last) >= v.o.Limits.ReadyTimeout
}

// stuck: a pod that will not come up by waiting. While a set forms for the
// first time, members that exit because their peers have no names yet, and pods
// whose volumes are being made, are the ordinary way: they are given the health
// timeout before anybody is told that something is wrong.
func (v *view) stuck(pod guard.Pod) bool {
	switch {
	case !pod.Exists || pod.Trouble == guard.NoTrouble:
		return false
	case v.hasFormed() || pod.Trouble == guard.ImageTrouble || pod.Trouble == guard.ConfigTrouble:
		return true
	}
	return v.since(pod.Created) >= v.o.Limits.HealthTimeout
}

// hasFormed says that we have seen the set as a cluster, now or before.
func (v *view) hasFormed() bool { return hasFormed(v.rec, v.o.Status) }

func hasFormed(r Record, s Status) bool {
	return r.Cluster != 0 || r.Last != nil || s.ConvergedRevision != ""
}

// HasFormed says that the set was seen as a cluster before this look.
func (o Observed) HasFormed() bool {
	return hasFormed(o.Record, o.Status) && (o.Record.UID == o.Set.UID || o.Status.ConvergedRevision != "")
}

// neverBootstrapped: nothing was ever up, and what there is will not come up
// by waiting. A set that has converged or rolled before is not meant.
func (v *view) neverBootstrapped() bool {
	if v.hasFormed() {
		return false
	}
	v.wantMembers()
	tried := false
	for i := range v.o.Set.Indexes() {
		pod := v.o.Pod(i)
		if pod.Ready || v.o.Member(i).Reached {
			return false
		}
		tried = tried || v.stuck(pod) || pod.Exists && v.since(pod.Created) >= v.o.Limits.ReadyTimeout
	}
	return tried && v.o.Probed
}
