package etcdprobe

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

var victim2 = guard.Plan{Victim: 2}

func TestHealthyClusterOpensEveryGate(t *testing.T) {
	fakes := newFakes(t, 3)
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	wantClosed(t, judge(r, victim2))
	if r.Commit != fakeIndex || r.AlarmsRead != guard.Yes || r.Auth != guard.No {
		t.Errorf("commit %d, alarms read %v, auth %v", r.Commit, r.AlarmsRead, r.Auth)
	}
	m := r.Members[1]
	want := guard.Sample{Applied: fakeIndex, Revision: 500}
	if m.ID != guard.ID(fakeID(1)) || m.First != want || m.Last != want || m.ReadTook <= 0 || m.Problem != guard.NoProblem || m.Detail != "" {
		t.Errorf("member 1 reads %+v", m)
	}
	for i, f := range fakes {
		if f.accepted.Load() != 1 {
			t.Errorf("member %d was asked over %d connections, want 1", i, f.accepted.Load())
		}
		eventually(t, func() bool { return f.open.Load() == 0 }, "connection to member %d is still open", i)
	}
}

// Nobody must answer for anybody: a reading has the caller's index, whatever
// the order of endpoints and the gaps between them.
func TestReadingIsByIndex(t *testing.T) {
	fakes := newFakes(t, 3)
	e := endpointsOf(fakes)
	r := patient().Probe(t.Context(), []Endpoint{e[2], e[0]}, Credentials{})
	if len(r.Members) != 3 || r.Members[2].ID != guard.ID(fakeID(2)) || r.Members[0].ID != guard.ID(fakeID(0)) || r.Members[1].Reached {
		t.Errorf("members read %+v", r.Members)
	}
	for _, bad := range []int{-1, guard.MaxReplicas, 900} {
		r = patient().Probe(t.Context(), []Endpoint{{Index: bad, Address: fakes[0].address}}, Credentials{})
		if len(r.Members) != 0 {
			t.Errorf("index %d gave %d members", bad, len(r.Members))
		}
	}
}

func TestPodWithoutAddressIsNotAsked(t *testing.T) {
	fakes := newFakes(t, 3)
	e := endpointsOf(fakes)
	e[1].Absent = true
	r := patient().Probe(t.Context(), e, Credentials{})
	if m := r.Members[1]; m.Reached || m.Problem != guard.Unreachable || !strings.Contains(m.Detail, "no address") {
		t.Errorf("member 1 reads %+v", m)
	}
	if fakes[1].accepted.Load() != 0 {
		t.Error("a pod without an address was dialled")
	}
	if judge(r, victim2).Get(guard.MembersReachable).Passed {
		t.Error("a member that was not asked passes as reachable")
	}
}

// The newest word on who leads is the one that counts, also the victim's.
func TestET21_LeaderIsAskedLastFromEveryone(t *testing.T) {
	fakes := newFakes(t, 3)
	for _, f := range fakes {
		f.onStatus = func(n int, s *pb.StatusResponse) {
			if n > 1 { // leadership drifts to the victim during the probe
				s.Leader, s.RaftTerm = fakeID(2), 8
			}
		}
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	for i, m := range r.Members {
		if m.Leader != guard.ID(fakeID(2)) || m.Term != 8 {
			t.Errorf("member %d names leader %s in term %d, want the victim in term 8", i, m.Leader, m.Term)
		}
	}
	if got := (guard.Snapshot{Members: r.Members}).LeaderIndex(); got != 2 {
		t.Errorf("leader index %d, want 2", got)
	}
}

// A member that stops answering between the questions is not reached.
func TestMemberLostDuringTheProbeIsNotReached(t *testing.T) {
	t.Parallel()
	fakes := newFakes(t, 3)
	fakes[2].onStatus = func(int, *pb.StatusResponse) { fakes[2].hang["Status"] = true }
	r := quick().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	m := r.Members[2]
	if m.Reached || m.Leader != 0 || m.Problem != guard.TimedOut || !strings.HasPrefix(m.Detail, "Status: no answer within") {
		t.Errorf("member 2 reads %+v", m)
	}
	wantClosed(t, judge(r, guard.Plan{Victim: 1}), guard.MembersReachable, guard.LeaderAgreed, guard.CaughtUp, guard.QuorumAfter)
}

func TestAnotherMemberBehindTheSameAddressIsNotReached(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[2].onStatus = func(n int, s *pb.StatusResponse) {
		if n > 1 {
			s.Header.MemberId = 99
		}
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	if m := r.Members[2]; m.Reached || !strings.Contains(m.Detail, "another member answers") {
		t.Errorf("member 2 reads %+v", m)
	}
}

func TestET09_AdvertisedAddressesAreNeverDialled(t *testing.T) {
	trap := newFakes(t, 1)[0]
	fakes := newFakes(t, 3)
	for _, p := range fakes[0].peers { // one list, shared by all
		p.ClientURLs = []string{"http://" + trap.address, "http://0.0.0.0:2379"}
		p.PeerURLs = p.ClientURLs
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	wantClosed(t, judge(r, victim2))
	if trap.accepted.Load() != 0 {
		t.Error("an advertised address was dialled")
	}
}

func TestET30_IdsKeepAllTheirBitsInText(t *testing.T) {
	fakes := newFakes(t, 3)
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Members []struct{ ID, Cluster, Leader string }
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Members[2]; got.ID != "8e9e05c52164694f" || got.Leader != "8e9e05c52164694d" || got.Cluster != "cdf818194e3a8c32" {
		t.Errorf("ids in JSON are %+v", got)
	}
}

func TestStatusErrorsAreKept(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[1].status.Errors = []string{"etcdserver: no leader"}
	fakes[1].status.Leader = 0
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	if got := r.Members[1].Faults; len(got) != 1 || got[0] != "etcdserver: no leader" {
		t.Errorf("faults %q", got)
	}
	wantClosed(t, judge(r, victim2), guard.LeaderAgreed, guard.CaughtUp)
}

func TestRefusedConnectionIsToldAtOnce(t *testing.T) {
	fakes := newFakes(t, 3)
	e := endpointsOf(fakes)
	e[1].Address = refusing(t)
	start := time.Now()
	r := patient().Probe(t.Context(), e, Credentials{})
	if took := time.Since(start); took > patient().CallTimeout/2 {
		t.Errorf("probe took %s", took)
	}
	want := fmt.Sprintf("Status: no connection to %s: connection refused", e[1].Address)
	if m := r.Members[1]; m.Problem != guard.Unreachable || m.Detail != want {
		t.Errorf("problem %d, detail %q, want %q", m.Problem, m.Detail, want)
	}
}

func TestCancelledProbeHasNoGoodReading(t *testing.T) {
	fakes := newFakes(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := patient().Probe(ctx, endpointsOf(fakes), Credentials{})
	for i, m := range r.Members {
		if m.Reached || m.Read == guard.Yes || m.Problem == guard.NoProblem {
			t.Errorf("member %d reads %+v", i, m)
		}
	}
}

// refusing is an address where nobody listens.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// eventually polls, since a server learns of a closed connection a little
// later than its client.
func eventually(t *testing.T, done func() bool, format string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf(format, args...)
		}
	}
}
