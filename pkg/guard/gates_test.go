package guard

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// healthy is a cluster on which every gate passes for any follower.
func healthy(n int) Snapshot {
	s := Snapshot{
		Now: noon, Probed: true, Commit: 1000, AlarmsRead: Yes, Auth: No,
		Budget:   Budget{Read: Yes},
		Template: Template{Data: Persistent, Grace: 30 * time.Second, Version: "v3.6.16"},
		Limits:   DefaultLimits(),
		Set: Set{
			Name: "etcd", UID: "u", Managed: true, Generation: 2, ObservedGeneration: 2, Strategy: RollingUpdate,
			Management: OrderedReady, MaxUnavailable: 1, Replicas: n, StatusReplicas: n, Partition: n,
			CurrentRevision: "a", UpdateRevision: "b",
		},
	}
	for i := range n {
		s.Pods = append(s.Pods, Pod{Exists: true, Owned: true, UID: strconv.Itoa(i), Revision: "a", Ready: true, ReadyChanged: noon.Add(-time.Hour)})
		m := Member{
			Reached: true, ID: ID(100 + i), Cluster: 7, Leader: 100, Term: 5, Version: "3.6.16", Read: Yes,
			First: Sample{1000, 900}, Last: Sample{1000, 900}, DBSize: 1 << 20, Quota: 1 << 30,
		}
		for j := range n {
			m.Peers = append(m.Peers, Peer{ID: ID(100 + j), Name: "etcd-" + strconv.Itoa(j)})
		}
		s.Members = append(s.Members, m)
	}
	return s
}

func TestEveryGatePassesOnAHealthyCluster(t *testing.T) {
	for n := 3; n <= MaxReplicas; n++ {
		if v := Judge(healthy(n), Plan{Victim: n - 1}); !v.Open() || len(v) != len(checks) {
			t.Errorf("%d members: %v", n, v.Objections())
		}
	}
}

// One fault, the gates it closes, and words of what was measured.
func TestEachFaultClosesItsGate(t *testing.T) {
	cases := []struct {
		id, when string
		spoil    func(*Snapshot)
		closed   []Gate
		says     string
	}{
		{"SS-13", "status lags", func(s *Snapshot) { s.Set.ObservedGeneration = 1 }, []Gate{StatusCurrent}, "observed generation 1 of 2"},
		{"SS-10", "maxUnavailable 2", func(s *Snapshot) { s.Set.MaxUnavailable = 2 }, []Gate{ShapeSupported}, "resolves to 2"},
		{"", "scaling down", func(s *Snapshot) { s.Set.StatusReplicas = 4 }, []Gate{ShapeSupported}, "scaling"},
		{"", "unknown strategy", func(s *Snapshot) { s.Set.Strategy = StrategyUnknown }, []Gate{ShapeSupported}, "strategy"},
		{"SS-23", "a terminating pod shows Ready", func(s *Snapshot) { s.Pods[1].Terminating = true }, []Gate{OnePodInFlight, Soaked, QuorumAfter}, "etcd-1 is terminating"},
		{"SS-02", "a lower pod is not Ready", func(s *Snapshot) { s.Pods[0].Ready = false }, []Gate{OnePodInFlight, Soaked, QuorumAfter}, "etcd-0 is not Ready"},
		{"", "a pod of another owner", func(s *Snapshot) { s.Pods[1].Owned = false }, []Gate{OnePodInFlight, Soaked, QuorumAfter}, "another owner"},
		{"SS-22", "a pod has not soaked", func(s *Snapshot) { s.Pods[1].ReadyChanged = noon.Add(-29 * time.Second) }, []Gate{Soaked}, "29s"},
		{"SS-22", "minReadySeconds counts", func(s *Snapshot) { s.Set.MinReady = 2 * time.Hour }, []Gate{Soaked}, "2h0m0s"},
		{"", "a restarted container soaks anew", func(s *Snapshot) { s.Pods[1].Started = noon.Add(-time.Second) }, []Gate{Soaked}, "1s"},
		{"", "a Ready time in the future", func(s *Snapshot) { s.Pods[1].ReadyChanged = noon.Add(time.Hour) }, []Gate{Soaked}, "0s"},
		{"ET-10", "a member does not answer", func(s *Snapshot) { s.Members[1] = Member{Detail: "Status: deadline exceeded"} },
			[]Gate{MembersReachable, LinearizableRead, MembershipMatches, LearnersAbsent, LeaderAgreed, CaughtUp, QuorumAfter, VersionPath}, "deadline exceeded"},
		{"ET-32", "no linearizable read", func(s *Snapshot) { s.Members[1].Read = No }, []Gate{LinearizableRead, QuorumAfter}, "etcd-1 gave no linearizable read"},
		{"ET-07", "a member that never started", func(s *Snapshot) { s.Members[0].Peers = append(slices.Clone(s.Members[0].Peers), Peer{ID: 9}) }, []Gate{MembershipMatches, QuorumAfter}, "never started"},
		{"ET-25", "views differ", func(s *Snapshot) {
			s.Members[2].Peers = slices.Clone(s.Members[2].Peers)
			s.Members[2].Peers[0].ID = 55
		}, []Gate{MembershipMatches}, "other members"},
		{"ET-04", "another cluster id", func(s *Snapshot) { s.Members[2].Cluster = 8 }, []Gate{MembershipMatches}, "cluster id 8"},
		{"", "another member than at the start", func(s *Snapshot) { s.Baseline = Baseline{Cluster: 7, Members: map[int]ID{1: 5}} }, []Gate{MembershipMatches}, "was 5"},
		{"", "another cluster than at the start", func(s *Snapshot) { s.Baseline.Cluster = 6 }, []Gate{MembershipMatches}, "was 6"},
		{"ET-24", "a learner in one view", func(s *Snapshot) {
			s.Members[1].Peers = append(slices.Clone(s.Members[1].Peers), Peer{ID: 9, Name: "l", Learner: true})
		}, []Gate{MembershipMatches, LearnersAbsent}, "learner 9"},
		{"ET-04", "two leaders", func(s *Snapshot) { s.Members[1].Leader = 101 }, []Gate{LeaderAgreed}, "others 64"},
		{"ET-04", "terms differ", func(s *Snapshot) { s.Members[1].Term = 6 }, []Gate{LeaderAgreed}, "term 6"},
		{"", "the leader is no pod's member", func(s *Snapshot) {
			for i := range s.Members {
				s.Members[i].Leader = 77
			}
		}, []Gate{LeaderAgreed}, "no single pod's member"},
		{"", "two pods answer as one follower", func(s *Snapshot) { s.Members[2].ID = 101 }, []Gate{MembershipMatches}, "etcd-2 answers as member 65, and so does etcd-1"},
		{"ET-04", "two pods answer as the leader", func(s *Snapshot) { s.Members[1].ID = 100 }, []Gate{MembershipMatches, LeaderAgreed}, "no single pod's member"},
		{"ET-20", "an unexplained election", func(s *Snapshot) { s.Baseline.UnplannedAt = noon.Add(-59 * time.Second) }, []Gate{TermStable}, "59s ago"},
		{"ET-18", "one entry behind", func(s *Snapshot) { s.Members[1].Last.Applied = 999 }, []Gate{CaughtUp}, "1 entries behind"},
		{"", "the leader's commit index is unknown", func(s *Snapshot) { s.Commit = 0 }, []Gate{CaughtUp}, "unknown"},
		{"ET-16", "equal progress, unequal revisions", func(s *Snapshot) { s.Members[1].First.Revision, s.Members[1].Last.Revision = 1, 1 }, []Gate{RevisionsConsistent}, "revisions 900 and 1"},
		{"ET-14", "NOSPACE", func(s *Snapshot) { s.Alarms = []Alarm{{102, AlarmNoSpace, "NOSPACE"}} }, []Gate{AlarmsAbsent}, "NOSPACE on member 66"},
		{"", "alarms could not be read", func(s *Snapshot) { s.AlarmsRead = Unknown }, []Gate{AlarmsAbsent}, "could not be read"},
		{"", "the database is nearly full", func(s *Snapshot) { s.Members[0].DBSize = 1020 << 20 }, []Gate{Headroom}, "100 %"},
		{"SS-27", "a budget without room", func(s *Snapshot) { s.Budget = Budget{Read: Yes, Found: true, Name: "pdb"} }, []Gate{DisruptionBudget}, "pdb allows 0"},
		{"ET-06", "data on an empty directory", func(s *Snapshot) { s.Template.Data = Ephemeral }, []Gate{TemplateLint}, "persistent volume"},
		{"ET-22", "no grace", func(s *Snapshot) { s.Template.Grace = time.Second }, []Gate{TemplateLint}, "terminationGracePeriodSeconds 1"},
		{"", "preStop removes the member", func(s *Snapshot) { s.Template.RemovesMember = true }, []Gate{TemplateLint}, "preStop"},
		{"ET-26", "a flag the target dropped", func(s *Snapshot) { s.Template.Version, s.Template.Flags = "3.7.3", []string{"experimental-x"} }, []Gate{TemplateLint}, "--experimental-x"},
	}
	for _, c := range cases {
		t.Run(strings.TrimSpace(c.id+" "+c.when), func(t *testing.T) {
			s := healthy(3)
			c.spoil(&s)
			v := Judge(s, Plan{Victim: 2}).Objections()
			var closed []Gate
			var said []string
			for _, f := range v {
				closed, said = append(closed, f.Gate), append(said, f.Measured+" (wants "+f.Threshold+")")
			}
			if !slices.Equal(closed, c.closed) {
				t.Errorf("closed %v, want %v", closed, c.closed)
			}
			if text := strings.Join(said, "\n"); !strings.Contains(text, c.says) {
				t.Errorf("nothing says %q:\n%s", c.says, text)
			}
		})
	}
}

func TestAnEmptySnapshotOpensNoHardGateOfHealth(t *testing.T) {
	v := Judge(Snapshot{}, Plan{})
	for _, g := range append(slices.Clone(HealthGates), StatusCurrent, ShapeSupported, QuorumAfter, VersionPath, TemplateLint) {
		if g != TermStable && v.Get(g).Passed {
			t.Errorf("%s passes on nothing at all", g)
		}
	}
	if (Verdict{}).Open() || (Verdict)(nil).Get(CaughtUp).Passed {
		t.Error("an empty verdict is open")
	}
}

func TestAStuckVictimIsExemptAndNobodyElse(t *testing.T) {
	s := healthy(3)
	s.Pods[2].Ready, s.Members[2] = false, Member{}
	if v := Judge(s, Plan{Victim: 2, Stuck: true}); !v.Open() {
		t.Errorf("the stuck victim blocks its own replacement: %v", v.Objections())
	}
	if v := Judge(s, Plan{Victim: 1, Stuck: true}); v.Open() {
		t.Error("another pod was exempt")
	}
	s.Pods[1].Ready, s.Members[1] = false, Member{}
	if v := Judge(s, Plan{Victim: 2, Stuck: true}); v.Get(QuorumAfter).Passed {
		t.Error("ET-11: quorum counted a member that is down")
	}
}

func TestQuorumAfterBySize(t *testing.T) {
	for _, c := range []struct {
		n, down  int
		downtime bool
		open     bool
	}{{1, 0, false, false}, {1, 0, true, true}, {2, 0, false, false}, {2, 0, true, true}, {2, 1, true, false}, {3, 0, false, true}, {3, 1, false, false}, {3, 1, true, false}, {4, 0, false, true}, {4, 1, false, false}, {5, 1, false, true}, {5, 2, false, false}} {
		s := healthy(c.n)
		s.Limits.AllowDowntime = c.downtime
		for i := range c.down {
			s.Members[i] = Member{}
		}
		if got := Judge(s, Plan{Victim: c.n - 1}).Get(QuorumAfter).Passed; got != c.open {
			t.Errorf("%d members, %d down, allowDowntime %t: open %t", c.n, c.down, c.downtime, got)
		}
	}
}

func TestOverridesReachSoftGatesOnlyAndOnlyAsNamed(t *testing.T) {
	s := healthy(3)
	s.Pods[1].ReadyChanged = noon // Soaked, soft
	s.Members[0].Read = No        // LinearizableRead, hard
	s.Overrides = []Override{
		{Soaked, "b", noon.Add(time.Hour), "maintenance window"},
		{LinearizableRead, "b", noon.Add(time.Hour), "no"},
	}
	v := Judge(s, Plan{Victim: 2})
	if v.Get(Soaked).Closed() || v.Get(Soaked).Override != "maintenance window" || len(v.Overridden()) != 1 {
		t.Errorf("a named override was not honoured: %+v", v.Get(Soaked))
	}
	if !v.Get(LinearizableRead).Closed() {
		t.Error("a hard gate was overridden")
	}
	for _, o := range []Override{{Soaked, "c", noon.Add(time.Hour), "x"}, {Soaked, "b", noon, "x"}, {Soaked, "b", noon.Add(time.Hour), ""}, {Headroom, "b", noon.Add(time.Hour), "x"}} {
		s.Overrides = []Override{o}
		f := Judge(s, Plan{Victim: 2}).Get(Soaked)
		if !f.Closed() {
			t.Errorf("%+v was honoured", o)
		}
		if told := map[bool]string{true: "ended at 2026-03-01T12:00:00Z"}[o.Until.Equal(noon)]; !strings.Contains(f.Note, told) {
			t.Errorf("%+v: the note is %q", o, f.Note)
		}
		if told := o.Revision == "b" || strings.Contains(f.Note, `is for revision "c"`); !told {
			t.Errorf("%+v: the note is %q", o, f.Note)
		}
	}
	s = healthy(3)
	s.Overrides = []Override{{AlarmsAbsent, "b", noon.Add(time.Hour), "known"}}
	for kind, open := range map[AlarmKind]bool{AlarmNoSpace: true, AlarmCorrupt: false, AlarmOther: false} {
		s.Alarms = []Alarm{{Kind: kind}}
		if Judge(s, Plan{Victim: 2}).Open() != open {
			t.Errorf("alarm kind %d overridden: want %t", kind, open)
		}
	}
}

func TestET18_TheRatioFormIsAnOption(t *testing.T) {
	s := healthy(3)
	s.Members[1].Last = Sample{Applied: 900, Revision: 810}
	s.Limits.CatchUpRatio = 0.9
	if f := Judge(s, Plan{Victim: 2}).Get(CaughtUp); !f.Passed {
		t.Errorf("810 of 900 is 90 %%: %+v", f)
	}
	s.Members[1].Last.Revision = 809
	if f := Judge(s, Plan{Victim: 2}).Get(CaughtUp); f.Passed {
		t.Errorf("809 of 900 passed: %+v", f)
	}
}

func TestET37_LagSaturates(t *testing.T) {
	if Lag(Snapshot{Commit: 5}, Member{Last: Sample{Applied: 9}}) != 0 {
		t.Error("a member ahead of the commit index read earlier lags")
	}
}

// What only repeats that a member is silent is told apart from what is wrong
// with the others.
func TestEchoesOfASilentMember(t *testing.T) {
	s := healthy(3)
	s.Members[1] = Member{Detail: "no connection"}
	s.Members[2].Learner = true
	s.Pods[2].Ready = false
	var words []Gate
	for _, f := range Judge(s, NoVictim).Objections() {
		if !f.Echo {
			words = append(words, f.Gate)
		}
	}
	if want := []Gate{OnePodInFlight, Soaked, MembersReachable, LearnersAbsent, QuorumAfter}; !slices.Equal(words, want) {
		t.Errorf("no echoes are %v, want %v", words, want)
	}
	for _, f := range Judge(healthy(3), NoVictim) {
		if f.Echo {
			t.Errorf("%s echoes nothing", f.Gate)
		}
	}
}
