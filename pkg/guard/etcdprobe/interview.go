package etcdprobe

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// interview is the conversation with one member in one probe. Until together
// returns it belongs to the goroutine that asks.
type interview struct {
	endpoint   Endpoint
	link       *link // nil when the member cannot be asked
	introduced bool  // the first Status was answered
	member     guard.Member
	commit     uint64 // as this member saw it at first
	auth       guard.Answer

	// Failures, the most telling first.
	loginFailure, firstFailure, lastFailure, readFailure, peersFailure, alarmFailure *Failure
}

// beginAll prepares an interview for each endpoint that has an index. Those
// that cannot be asked carry the reason.
func beginAll(endpoints []Endpoint, who Credentials, limit time.Duration) []*interview {
	var talks []*interview
	for _, e := range endpoints {
		if e.Index < 0 || e.Index >= guard.MaxReplicas {
			continue
		}
		t := &interview{endpoint: e}
		if e.Absent {
			t.firstFailure = &Failure{Problem: guard.Unreachable, Call: "connect", Words: "the pod has no address"}
		} else {
			t.link, t.firstFailure = open(e, who, limit)
		}
		talks = append(talks, t)
	}
	return talks
}

func endAll(talks []*interview) {
	for _, t := range talks {
		if t.link != nil {
			t.link.close()
		}
	}
}

// together lets all members be asked at once and waits for all.
func together(talks []*interview, ask func(*interview)) {
	var all sync.WaitGroup
	for _, t := range talks {
		all.Go(func() { ask(t) })
	}
	all.Wait()
}

// introduce asks who the member is. Status comes first and without a token,
// since older members tell it to anybody even when nobody can log in for want
// of a quorum.
func (t *interview) introduce(ctx context.Context) {
	if t.link == nil {
		return
	}
	status, failure := t.link.status(ctx)
	if failure != nil && !refused(failure) {
		t.firstFailure = failure
		return
	}
	if refused(failure) {
		t.auth = guard.Yes
	}
	enabled, loginFailure := t.link.logIn(ctx)
	t.auth, t.loginFailure = max(t.auth, enabled), loginFailure
	if failure != nil && t.link.token != "" {
		status, failure = t.link.status(ctx)
	}
	if failure != nil {
		t.firstFailure = failure
		return
	}
	t.introduced, t.commit = true, status.RaftIndex
	t.member.First = sample(status)
	t.take(status)
}

// listPeers asks whom the member sees.
func (t *interview) listPeers(ctx context.Context) {
	if t.introduced {
		t.member.Peers, t.peersFailure = t.link.peers(ctx)
	}
}

// refused says that etcd wants to know who is asking, or knows and declines.
func refused(f *Failure) bool {
	return f != nil && (f.Problem == guard.Unauthenticated || f.Problem == guard.PermissionDenied)
}

// read asks for a linearizable read. Credentials that were given and not
// accepted are a mistake in the configuration, never an answer.
func (t *interview) read(ctx context.Context) {
	if !t.introduced {
		return
	}
	if t.loginFailure != nil {
		t.member.Read = guard.No
		return
	}
	start := time.Now()
	t.member.Read, t.readFailure = t.link.read(ctx)
	t.member.ReadTook = time.Since(start)
}

// catchUp waits until the member has applied what the leader had committed,
// unless it is so far behind that waiting is pointless. What it ends with is
// read once more by lastWord.
func (t *interview) catchUp(ctx context.Context, commit uint64, p Prober) {
	if !t.introduced {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.CatchUpWindow)
	defer cancel()
	wait := p.PollEvery / 16 // where there are writes, most followers lack an entry for some milliseconds
	for applied := t.member.First.Applied; applied < commit && commit-applied <= p.MaxLag; wait = min(2*wait, p.PollEvery) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		status, failure := t.link.status(ctx)
		if failure != nil {
			return
		}
		applied = status.RaftAppliedIndex
	}
}

// lastWord asks for progress, term and leader once more. Whatever was said
// before, only this counts as being reached.
func (t *interview) lastWord(ctx context.Context) {
	first := t.member.ID
	t.member.Reached, t.member.Leader, t.member.Term = false, 0, 0
	if t.link == nil {
		return
	}
	status, failure := t.statusAgain(ctx)
	switch {
	case failure != nil:
		t.lastFailure = failure
	case first != 0 && guard.ID(status.Header.GetMemberId()) != first:
		t.lastFailure = &Failure{Problem: guard.OtherProblem, Call: "Status", Words: "another member answers than did a moment ago"}
	default:
		t.member.Last = sample(status)
		t.take(status)
	}
}

// statusAgain asks over the same connection, or over a new one if there was
// none: the old one would only repeat its refusal.
func (t *interview) statusAgain(ctx context.Context) (*clientv3.StatusResponse, *Failure) {
	if t.introduced || refused(t.firstFailure) {
		return t.link.status(ctx)
	}
	again, failure := open(t.link.endpoint, t.link.who, min(t.link.limit, secondChance))
	if failure != nil {
		return nil, failure
	}
	defer again.close()
	return again.status(ctx)
}

func sample(s *clientv3.StatusResponse) guard.Sample {
	return guard.Sample{Applied: s.RaftAppliedIndex, Revision: s.Header.GetRevision()}
}

// take copies what a Status says of the member itself.
func (t *interview) take(s *clientv3.StatusResponse) {
	m := &t.member
	m.Reached = true
	m.ID, m.Cluster = guard.ID(s.Header.GetMemberId()), guard.ID(s.Header.GetClusterId())
	m.Leader, m.Term = guard.ID(s.Leader), s.RaftTerm
	m.Learner, m.Version = s.IsLearner, s.Version
	m.DBSize, m.Quota = s.DbSize, s.DbSizeQuota
	m.DowngradeTo = downgradeLine(s.DowngradeInfo)
	m.Faults = s.Errors
}

// downgradeLine is the minor version of an enabled downgrade: "3.5" of "3.5.0".
func downgradeLine(d *etcdserverpb.DowngradeInfo) string {
	if !d.GetEnabled() {
		return ""
	}
	if v := guard.ParseVersion(d.TargetVersion); v.Known() {
		return v.Line()
	}
	return d.TargetVersion
}

// result is the member with the most telling of its failures.
func (t *interview) result() guard.Member {
	for _, f := range []*Failure{t.loginFailure, t.firstFailure, t.lastFailure, t.readFailure, t.peersFailure, t.alarmFailure} {
		if f != nil {
			t.member.Problem, t.member.Detail = f.Problem, f.Error()
			break
		}
	}
	return t.member
}
