package etcdprobe

import (
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

func TestET10_SilentMembersCostNoMoreThanEightSeconds(t *testing.T) {
	t.Parallel()
	fakes := newFakes(t, 3)
	e := endpointsOf(fakes)
	e[0].Address, e[1].Address = blackHole(t), blackHole(t)
	fakes[2].status.RaftAppliedIndex-- // would be waited for, if there were a commit index
	start := time.Now()
	r := New(guard.DefaultLimits()).Probe(t.Context(), e, Credentials{})
	if took := time.Since(start); took >= 8*time.Second {
		t.Errorf("probe took %s", took)
	}
	for i := range 2 {
		if m := r.Members[i]; m.Reached || m.Problem != guard.TimedOut || !strings.Contains(m.Detail, "stayed silent for 2.") {
			t.Errorf("member %d reads %+v", i, m)
		}
	}
	if !r.Members[2].Reached {
		t.Errorf("the member that answers is not reached: %+v", r.Members[2])
	}
}

// A member that was silent is asked again at the end, but not waited for in
// full again.
func TestET10_SilentMemberIsNotWaitedForTwice(t *testing.T) {
	t.Parallel()
	p := Prober{CallTimeout: 5 * time.Second}
	r := p.Probe(t.Context(), []Endpoint{{Address: blackHole(t)}}, Credentials{})
	if r.Took < p.CallTimeout || r.Took > 2*p.CallTimeout-time.Second {
		t.Errorf("probe took %s, want %s and one second", r.Took, p.CallTimeout)
	}
}

// The slowest that members can be: each answers every call just in time, or
// one call of each step never.
func TestET10_MembersThatHangInEveryStep(t *testing.T) {
	t.Parallel()
	fakes := newFakes(t, 3)
	for i, calls := range [][]string{{"MemberList", "Range", "AlarmGET"}, {"Range", "AlarmGET", "AuthStatus"}, {"Authenticate", "AlarmGET", "Range"}} {
		for _, c := range calls {
			fakes[i].hang[c] = true
		}
		fakes[i].onStatus = func(n int, _ *pb.StatusResponse) { fakes[i].slow["Status"] = 2 * time.Second }
	}
	start := time.Now()
	r := New(guard.DefaultLimits()).Probe(t.Context(), endpointsOf(fakes), Credentials{User: "u", Password: "p"})
	if took := time.Since(start); took >= 8*time.Second {
		t.Errorf("probe took %s", took)
	}
	if v := judge(r, victim2); v.Get(guard.LinearizableRead).Passed || v.Get(guard.AlarmsAbsent).Passed {
		t.Error("readings that never came opened a gate")
	}
}

func TestET11_LostQuorumIsToldApartFromLostMembers(t *testing.T) {
	t.Parallel()
	fakes := newFakes(t, 3)
	for _, f := range fakes {
		f.hang["Range"], f.hang["MemberListLinearizable"], f.hang["AlarmGET"], f.hang["AuthStatus"] = true, true, true, true
	}
	r := quick().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	v := judge(r, victim2)
	for i, m := range r.Members {
		if !m.Reached || len(m.Peers) != 3 || m.Read != guard.No || !strings.HasPrefix(m.Detail, "Range: no answer within") {
			t.Errorf("member %d reads %+v", i, m)
		}
		if fakes[i].called("MemberListLinearizable") > 0 {
			t.Error("the member list was asked for in a way that needs a quorum")
		}
	}
	if !v.Get(guard.MembersReachable).Passed || v.Get(guard.LinearizableRead).Passed || v.Get(guard.QuorumAfter).Passed || v.Get(guard.AlarmsAbsent).Passed {
		t.Errorf("verdict %+v", v)
	}
}

func TestHungMemberListLeavesTheRest(t *testing.T) {
	t.Parallel()
	fakes := newFakes(t, 3)
	fakes[1].hang["MemberList"] = true
	r := quick().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	if m := r.Members[1]; !m.Reached || m.Read != guard.Yes || m.Peers != nil || !strings.HasPrefix(m.Detail, "MemberList: ") {
		t.Errorf("member 1 reads %+v", m)
	}
	wantClosed(t, judge(r, victim2), guard.MembershipMatches, guard.LearnersAbsent)
}
