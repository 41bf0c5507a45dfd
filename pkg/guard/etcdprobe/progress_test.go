package etcdprobe

import (
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

func TestET18_LagThatClosesWithinTheWindowPasses(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[2].onStatus = func(n int, s *pb.StatusResponse) {
		s.RaftAppliedIndex = min(fakeIndex, fakeIndex-4+uint64(n))
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	wantClosed(t, judge(r, guard.Plan{Victim: 1}))
	if m := r.Members[2]; m.First.Applied != fakeIndex-3 || m.Last.Applied != fakeIndex {
		t.Errorf("samples are %+v and %+v", m.First, m.Last)
	}
	if n := fakes[1].called("Status"); n != 2 {
		t.Errorf("a member that was not behind was asked %d times, want 2", n)
	}
}

// The leader goes on committing; only what it had committed when it was asked
// first has to be reached, else a busy cluster would never pass.
func TestET18_CommitIndexIsTheOneReadFirst(t *testing.T) {
	fakes := newFakes(t, 3)
	for _, f := range fakes {
		f.onStatus = func(n int, s *pb.StatusResponse) {
			s.RaftIndex = fakeIndex + uint64(100*n)
			s.RaftAppliedIndex = s.RaftIndex - 90
		}
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	if r.Commit != fakeIndex+100 {
		t.Errorf("commit index %d, want that of the first Status", r.Commit)
	}
	wantClosed(t, judge(r, victim2))
}

func TestET18_LagThatStaysCloses(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[2].status.RaftAppliedIndex = fakeIndex - 3
	p := quick()
	start := time.Now()
	r := p.Probe(t.Context(), endpointsOf(fakes), Credentials{})
	if took := time.Since(start); took < p.CatchUpWindow {
		t.Errorf("given up after %s, before the window of %s was over", took, p.CatchUpWindow)
	}
	v := judge(r, guard.Plan{Victim: 1})
	wantClosed(t, v, guard.CaughtUp)
	if f := v.Get(guard.CaughtUp); !strings.Contains(f.Measured, "etcd-2 is 3 entries behind") {
		t.Errorf("measured %q", f.Measured)
	}
}

// A member fed by snapshot moves, but is not there: no, and asked again later.
func TestET19_CatchingUpIsNotCaughtUp(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[2].onStatus = func(n int, s *pb.StatusResponse) { s.RaftAppliedIndex = 100 + uint64(n) }
	p := quick()
	r := p.Probe(t.Context(), endpointsOf(fakes), Credentials{})
	wantClosed(t, judge(r, guard.Plan{Victim: 1}), guard.CaughtUp)
	if m := r.Members[2]; m.Last.Applied <= m.First.Applied {
		t.Errorf("progress is not visible: %+v then %+v", m.First, m.Last)
	}
}

func TestET18_TooFarBehindIsNotWaitedFor(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[2].status.RaftAppliedIndex = fakeIndex - 11
	p := patient()
	p.MaxLag, p.CatchUpWindow = 10, 30*time.Second
	start := time.Now()
	r := p.Probe(t.Context(), endpointsOf(fakes), Credentials{})
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("waited %s for a member that is too far behind", took)
	}
	wantClosed(t, judge(r, guard.Plan{Victim: 1}), guard.CaughtUp)
	if n := fakes[2].called("Status"); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
}

func TestET18_RatioFormReadsTheRevisions(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[2].status.RaftAppliedIndex, fakes[2].status.Header.Revision = fakeIndex-3, 455
	ratio := func(share float64) func(*guard.Snapshot) {
		return func(s *guard.Snapshot) { s.Limits.CatchUpRatio = share }
	}
	r := quick().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	wantClosed(t, judge(r, guard.Plan{Victim: 1}, ratio(0.90)))
	wantClosed(t, judge(r, guard.Plan{Victim: 1}, ratio(0.92)), guard.CaughtUp)
}

func TestET16_EqualProgressWithOtherRevisionCloses(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[1].status.Header.Revision = 499
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	v := judge(r, victim2)
	wantClosed(t, v, guard.RevisionsConsistent)
	if f := v.Get(guard.RevisionsConsistent); !strings.Contains(f.Measured, "etcd-0 and etcd-1") {
		t.Errorf("measured %q", f.Measured)
	}
}

// The two numbers of one reading are not taken at one instant: a difference
// in one of two readings is load, not inconsistency.
func TestET16_OneOddReadingIsNoContradiction(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[1].onStatus = func(n int, s *pb.StatusResponse) { s.Header.Revision = 498 + min(int64(n), 2) }
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	wantClosed(t, judge(r, victim2))
	if m := r.Members[1]; m.First.Revision != 499 || m.Last.Revision != 500 {
		t.Errorf("samples are %+v and %+v", m.First, m.Last)
	}
}

func TestET16_HashesOfEqualContents(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[2].status.Header.Revision = 490
	h := patient().CompareHashes(t.Context(), endpointsOf(fakes), Credentials{})
	if h.Equal != guard.Yes || h.Revision != 490 || len(h.Members) != 3 || h.Members[2] != 42 || h.Detail != "" {
		t.Errorf("hashes read %+v", h)
	}
}

func TestET16_HashesThatDifferOrCannotBeCompared(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func([]*fakeMember)
		want    guard.Answer
		detail  string
	}{
		"another hash":       {func(f []*fakeMember) { f[2].hash.Hash = 43 }, guard.No, "etcd-0 and etcd-2 differ at revision 500"},
		"another compaction": {func(f []*fakeMember) { f[2].hash.CompactRevision = 9; f[2].hash.Hash = 43 }, guard.Unknown, "compacted to different revisions"},
		"no hash":            {func(f []*fakeMember) { f[0].fail["HashKV"] = errDenied }, guard.Unknown, "etcd-0: HashKV: permission denied"},
		"no revision":        {func(f []*fakeMember) { f[1].fail["Status"] = errDenied }, guard.Unknown, "not every member told its revision"},
	} {
		t.Run(name, func(t *testing.T) {
			fakes := newFakes(t, 3)
			c.arrange(fakes)
			h := patient().CompareHashes(t.Context(), endpointsOf(fakes), Credentials{})
			if h.Equal != c.want || !strings.Contains(h.Detail, c.detail) {
				t.Errorf("hashes read %+v", h)
			}
		})
	}
}

func TestET13_AlarmClosesTheGate(t *testing.T) {
	for _, c := range []struct {
		number pb.AlarmType
		kind   guard.AlarmKind
		text   string
		gate   guard.Kind
	}{
		{pb.AlarmType_NOSPACE, guard.AlarmNoSpace, "NOSPACE", guard.Soft},
		{pb.AlarmType_CORRUPT, guard.AlarmCorrupt, "CORRUPT", guard.Hard},
		{7, guard.AlarmOther, "unknown alarm type 7", guard.Hard},
	} {
		fakes := newFakes(t, 3)
		for _, f := range fakes {
			f.alarms = []*pb.AlarmMember{{MemberID: fakeID(1), Alarm: c.number}}
		}
		r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
		if len(r.Alarms) != 1 || r.Alarms[0] != (guard.Alarm{Member: guard.ID(fakeID(1)), Kind: c.kind, Text: c.text}) {
			t.Errorf("%s reads %+v", c.text, r.Alarms)
		}
		v := judge(r, victim2)
		wantClosed(t, v, guard.AlarmsAbsent)
		if f := v.Get(guard.AlarmsAbsent); f.Kind != c.gate || !strings.Contains(f.Measured, c.text+" on member "+guard.ID(fakeID(1)).String()) {
			t.Errorf("%s is judged %+v", c.text, f)
		}
	}
}

func TestET14_AlarmsAreReadAndNeverDisarmed(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[0].alarms = []*pb.AlarmMember{{MemberID: fakeID(1), Alarm: pb.AlarmType_NOSPACE}}
	patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	asked := 0
	for _, f := range fakes {
		asked += f.called("AlarmGET")
		if f.called("AlarmDEACTIVATE")+f.called("AlarmACTIVATE") > 0 {
			t.Error("an alarm was changed")
		}
	}
	if asked != 1 || fakes[0].called("AlarmGET") != 1 {
		t.Errorf("alarms were asked for %d times, want once, of the leader", asked)
	}
	// Once the list is empty the gate opens by itself.
	fakes[0].alarms = nil
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	wantClosed(t, judge(r, victim2))
}

func TestAlarmsAreAskedOfTheLeader(t *testing.T) {
	fakes := newFakes(t, 3)
	for _, f := range fakes {
		f.status.Leader = fakeID(2)
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	if r.AlarmsRead != guard.Yes || fakes[2].called("AlarmGET") != 1 || fakes[0].called("AlarmGET")+fakes[1].called("AlarmGET") != 0 {
		t.Errorf("alarms read %v, and not of the leader alone", r.AlarmsRead)
	}
}

func TestAlarmsComeFromTheNextMemberIfTheLeaderDoesNotTell(t *testing.T) {
	fakes := newFakes(t, 3)
	fakes[0].fail["AlarmGET"] = errDenied
	fakes[1].alarms = []*pb.AlarmMember{{MemberID: fakeID(2), Alarm: pb.AlarmType_NOSPACE}}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	if r.AlarmsRead != guard.Yes || len(r.Alarms) != 1 || r.Members[0].Problem != guard.NoProblem {
		t.Errorf("alarms read %v: %+v; leader %+v", r.AlarmsRead, r.Alarms, r.Members[0])
	}
}
