package etcdprobe

import (
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

func TestET04_SeveralLeadersCloseTheGates(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[2].status.Leader, fakes[2].status.RaftTerm = fakeID(2), 8
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	if r.Commit != 0 {
		t.Errorf("commit index %d of a leader that is not agreed on", r.Commit)
	}
	wantClosed(t, judge(r, guard.Plan{Victim: 1}), guard.LeaderAgreed, guard.CaughtUp)
}

func TestET04_OtherClusterIdClosesTheGate(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[1].status.Header.ClusterId = 1
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	v := judge(r, victim2)
	wantClosed(t, v, guard.MembershipMatches)
	if f := v.Get(guard.MembershipMatches); !strings.Contains(f.Measured, "cluster id 1") {
		t.Errorf("measured %q", f.Measured)
	}
}

func TestET07_UnstartedMemberClosesTheGates(t *testing.T) {
	fakes := newFakes(t, 3)
	peers := append(fakes[0].peers[:3:3], &pb.Member{ID: 77})
	for _, f := range fakes {
		f.peers = peers
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	v := judge(r, victim2)
	// Four voters need three: two would be left.
	wantClosed(t, v, guard.MembershipMatches, guard.QuorumAfter)
	if f := v.Get(guard.MembershipMatches); !strings.Contains(f.Measured, "4d that never started") {
		t.Errorf("measured %q", f.Measured)
	}
}

func TestET24_LearnerInAnyViewClosesTheGate(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[1].peers = append(fakes[0].peers[:3:3], &pb.Member{ID: 5, Name: "extra", IsLearner: true})
	fakes[2].status.IsLearner = true
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	v := judge(r, guard.Plan{Victim: 0})
	wantClosed(t, v, guard.MembershipMatches, guard.LearnersAbsent, guard.QuorumAfter)
	if f := v.Get(guard.LearnersAbsent); !strings.Contains(f.Measured, "lists learner 5") || !strings.Contains(f.Measured, "etcd-2 is a learner") {
		t.Errorf("measured %q", f.Measured)
	}
}

func TestET25_ZombieMemberInOneViewClosesTheGate(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[2].peers = append(fakes[0].peers[:2:2], &pb.Member{ID: 5, Name: "back-from-the-dead"})
	fakes[1].peers = []*pb.Member{fakes[0].peers[2], fakes[0].peers[1], fakes[0].peers[0]} // order is no difference
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	v := judge(r, guard.Plan{Victim: 1})
	wantClosed(t, v, guard.MembershipMatches)
	if f := v.Get(guard.MembershipMatches); !strings.HasPrefix(f.Measured, "etcd-2 ") {
		t.Errorf("measured %q", f.Measured)
	}
}

func TestET27_VersionIsTheMembersOwnWord(t *testing.T) {
	fakes := newFakes(t, 3)
	for i, v := range []string{"3.4.30", "3.4.30", "3.4.31"} {
		fakes[i].status.Version = v
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	v := judge(r, victim2)
	wantClosed(t, v, guard.VersionPath)
	if f := v.Get(guard.VersionPath); !strings.Contains(f.Measured, "3.4.30 to 3.6.16 skips a minor version") {
		t.Errorf("measured %q", f.Measured)
	}
}

func TestDowngradeIsReportedByItsMinor(t *testing.T) {
	for _, c := range []struct {
		info *pb.DowngradeInfo
		want string
	}{
		{nil, ""},
		{&pb.DowngradeInfo{TargetVersion: "3.5.0"}, ""},
		{&pb.DowngradeInfo{Enabled: true, TargetVersion: "3.5.0"}, "3.5"},
		{&pb.DowngradeInfo{Enabled: true, TargetVersion: "3.5"}, "3.5"},
	} {
		fakes := newFakes(t, 1)
		fakes[0].status.DowngradeInfo = c.info
		r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
		if got := r.Members[0].DowngradeTo; got != c.want {
			t.Errorf("%v gives %q, want %q", c.info, got, c.want)
		}
	}
}
