package etcdprobe

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// The times a Prober keeps when its fields are zero.
const (
	DefaultCallTimeout   = 2500 * time.Millisecond
	DefaultCatchUpWindow = 2 * time.Second
	DefaultPollEvery     = 50 * time.Millisecond
	DefaultMoveTimeout   = 5 * time.Second

	// secondChance bounds the last question to a member that could not be
	// reached at first: it may have come back, but is no longer waited for.
	secondChance = time.Second
)

// Prober asks members. It holds no connection and may be copied and used by
// several goroutines. Zero times mean the defaults.
type Prober struct {
	CallTimeout   time.Duration // for each call; a whole Probe ends within three of it
	CatchUpWindow time.Duration // how long a member may take to reach the leader's commit index
	PollEvery     time.Duration // how often it is asked meanwhile, once it has not caught up at once
	MaxLag        uint64        // entries behind at which catching up is not waited for; 0 never waits
	MoveTimeout   time.Duration // for MoveLeader as a whole
}

// New gives the Prober for the limits: default times, and the limits' MaxLag.
func New(limits guard.Limits) Prober { return Prober{MaxLag: limits.MaxLag} }

func (p Prober) withDefaults() Prober {
	p.CallTimeout = cmp.Or(p.CallTimeout, DefaultCallTimeout)
	p.CatchUpWindow = cmp.Or(p.CatchUpWindow, DefaultCatchUpWindow)
	p.PollEvery = cmp.Or(p.PollEvery, DefaultPollEvery)
	p.MoveTimeout = cmp.Or(p.MoveTimeout, DefaultMoveTimeout)
	return p
}

// Reading is what a Probe learned. What could not be read is the zero value,
// and no gate takes that for good.
type Reading struct {
	Members    []guard.Member // by index
	Commit     uint64         // the leader's commit index, read before any Last sample; 0 unknown
	AlarmsRead guard.Answer   // No: the user may not read them
	Alarms     []guard.Alarm
	Auth       guard.Answer // authentication is enabled in etcd
	Took       time.Duration
}

// Probe asks every member, each over a connection of its own and all at once.
// It gives no error: what failed is told of the member it failed on. It ends
// within three call timeouts (7.5 s by default) even if nobody answers.
//
// The steps are: who are you; then whom do you see, a linearizable read, the
// alarms, and catching up to the commit index that the leader named in the
// first step; and last, from everyone at once, the progress, the term and
// the leader. The leader and term in the reading are those of the last step.
func (p Prober) Probe(ctx context.Context, endpoints []Endpoint, who Credentials) Reading {
	p = p.withDefaults()
	start := time.Now()
	talks := beginAll(endpoints, who, p.CallTimeout)
	defer endAll(talks)

	// The last step keeps a call timeout of its own, whatever came before.
	early, cancel := context.WithTimeout(ctx, 2*p.CallTimeout)
	defer cancel()
	together(talks, func(t *interview) { t.introduce(early) })
	r := Reading{Commit: leaderCommit(talks)}
	p.observe(early, talks, &r)
	together(talks, func(t *interview) { t.lastWord(ctx) })

	r.Members = membersOf(talks)
	r.Took = time.Since(start)
	return r
}

// observe runs the middle step: what takes time but needs no order.
func (p Prober) observe(ctx context.Context, talks []*interview, r *Reading) {
	order := leaderFirst(talks)
	var cluster sync.WaitGroup // each of these answers has gone through the cluster's log
	cluster.Go(func() { r.AlarmsRead, r.Alarms = readAlarms(ctx, order) })
	cluster.Go(func() { r.Auth = readAuth(ctx, talks, order) })
	together(talks, func(t *interview) { // each writes fields of its own
		var own sync.WaitGroup
		own.Go(func() { t.catchUp(ctx, r.Commit, p) })
		own.Go(func() { t.listPeers(ctx) })
		t.read(ctx)
		own.Wait()
	})
	cluster.Wait()
}

// leaderCommit is the commit index of the leader that all members who
// answered agree on, by its own word; 0 when there is no such leader.
func leaderCommit(talks []*interview) uint64 {
	leader, commit := guard.ID(0), uint64(0)
	for _, t := range talks {
		m := t.member
		switch {
		case !t.introduced:
			continue
		case m.Leader == 0 || (leader != 0 && m.Leader != leader):
			return 0
		}
		leader = m.Leader
		if m.ID == m.Leader {
			commit = t.commit
		}
	}
	return commit
}

// leaderFirst is the order in which the cluster is asked what any member can
// tell: the leader needs no other member to pass the question on.
func leaderFirst(talks []*interview) []*interview {
	var order []*interview
	for _, t := range talks {
		switch {
		case !t.introduced:
		case t.member.ID == t.member.Leader:
			order = slices.Insert(order, 0, t)
		default:
			order = append(order, t)
		}
	}
	return order
}

// readAlarms asks one member for the alarms of all, or the next if that one
// does not tell. Why none told is then kept with each.
func readAlarms(ctx context.Context, order []*interview) (guard.Answer, []guard.Alarm) {
	failures := make([]*Failure, len(order))
	for i, t := range order {
		alarms, failure := t.link.alarms(ctx)
		if failure == nil {
			return guard.Yes, alarms
		}
		failures[i] = failure
	}
	answer := guard.Unknown
	if len(order) > 0 && !slices.ContainsFunc(failures, func(f *Failure) bool { return !refused(f) }) {
		answer = guard.No
	}
	for i, t := range order {
		t.alarmFailure = failures[i]
	}
	return answer, nil
}

// readAuth asks whether authentication is enabled, unless logging in told.
func readAuth(ctx context.Context, talks, order []*interview) guard.Answer {
	if told := authEvidence(talks); told != guard.Unknown {
		return told
	}
	for _, t := range order {
		if told := t.link.authEnabled(ctx); told != guard.Unknown {
			return told
		}
	}
	return guard.Unknown
}

// authEvidence is what logging in told. One yes outweighs any number of noes:
// a member that lags may not know yet.
func authEvidence(talks []*interview) guard.Answer {
	best := guard.Unknown
	for _, t := range talks {
		best = max(best, t.auth)
	}
	return best
}

func membersOf(talks []*interview) []guard.Member {
	size := 0
	for _, t := range talks {
		size = max(size, t.endpoint.Index+1)
	}
	members := make([]guard.Member, size)
	for _, t := range talks {
		members[t.endpoint.Index] = t.result()
	}
	return members
}
