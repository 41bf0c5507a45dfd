package etcdprobe

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

var errDenied = rpctypes.ErrGRPCPermissionDenied

// withAuth makes the members check who is asking.
func withAuth(fakes []*fakeMember) {
	for _, f := range fakes {
		f.auth, f.users = true, map[string]string{"ops": "secret"}
	}
}

func TestET31_StatusRightsDifferPerMember(t *testing.T) {
	fakes := newFakes(t, 3)
	withAuth(fakes)
	fakes[2].fail["Status"] = errDenied // the one that runs a newer patch
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{"ops", "secret"})
	m := r.Members[2]
	if m.Reached || m.Problem != guard.PermissionDenied || m.Detail != `Status: permission denied (user "ops" with password)` {
		t.Errorf("member 2 reads %+v", m)
	}
	v := judge(r, guard.Plan{Victim: 1})
	wantClosed(t, v, guard.MembersReachable, guard.LinearizableRead, guard.MembershipMatches, guard.LearnersAbsent,
		guard.LeaderAgreed, guard.CaughtUp, guard.QuorumAfter, guard.VersionPath)
	if f := v.Get(guard.MembersReachable); !strings.Contains(f.Measured, "etcd-2 did not answer: Status: permission denied") {
		t.Errorf("measured %q", f.Measured)
	}
}

func TestET31_EachCallThatIsDeniedIsNamed(t *testing.T) {
	for call, gate := range map[string]guard.Gate{"MemberList": guard.MembershipMatches, "AlarmGET": guard.AlarmsAbsent} {
		fakes := newFakes(t, 3)
		withAuth(fakes)
		for _, f := range fakes {
			f.fail[call] = errDenied
		}
		r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{"ops", "secret"})
		want := strings.TrimSuffix(call, "GET") + `: permission denied (user "ops" with password)`
		if m := r.Members[0]; m.Problem != guard.PermissionDenied || m.Detail != want {
			t.Errorf("%s: problem %d, detail %q, want %q", call, m.Problem, m.Detail, want)
		}
		if judge(r, victim2).Get(gate).Passed {
			t.Errorf("%s denied leaves %s open", call, gate)
		}
		if call == "AlarmGET" && r.AlarmsRead != guard.No {
			t.Errorf("alarms read %v, want no", r.AlarmsRead)
		}
	}
}

// Members from 3.5.28 on tell Status to known users only.
func TestET31_StatusThatNeedsAUserIsAskedWithTheToken(t *testing.T) {
	fakes := newFakes(t, 3)
	withAuth(fakes)
	for _, f := range fakes {
		f.statusNeedsUser = true
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{"ops", "secret"})
	wantClosed(t, judge(r, victim2))
	if r.Auth != guard.Yes {
		t.Errorf("auth %v, want yes", r.Auth)
	}
	r = patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
	for i, m := range r.Members {
		if m.Reached || m.Problem != guard.Unauthenticated || m.Detail != `Status: user name is empty (user "" without password)` {
			t.Errorf("without a user, member %d reads %+v", i, m)
		}
	}
	if r.Auth != guard.Yes {
		t.Errorf("auth %v, want yes: a member asked who we are", r.Auth)
	}
}

func TestET32_DeniedReadAfterLoginIsAnAnswer(t *testing.T) {
	fakes := newFakes(t, 3)
	withAuth(fakes)
	for _, f := range fakes {
		f.fail["Range"] = errDenied
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{"ops", "secret"})
	wantClosed(t, judge(r, victim2))
	for i, m := range r.Members {
		if m.Read != guard.Yes || m.Problem != guard.NoProblem {
			t.Errorf("member %d reads %+v", i, m)
		}
		if fakes[i].called("Range") != 1 || fakes[i].called("RangeSerializable") > 0 {
			t.Errorf("member %d was not asked for one read that needs a quorum", i)
		}
	}
}

func TestET32_FailedLoginIsNoAnswer(t *testing.T) {
	for name, who := range map[string]Credentials{
		"wrong password": {"ops", "guess"},
		"unknown user":   {"nobody", "secret"},
		"no user":        {"", "secret"},
	} {
		fakes := newFakes(t, 3)
		withAuth(fakes)
		r := patient().Probe(t.Context(), endpointsOf(fakes), who)
		for i, m := range r.Members {
			want := fmt.Sprintf("Authenticate: authentication failed, invalid user ID or password (user %q with password)", who.User)
			if m.Read != guard.No || m.Problem != guard.Unauthenticated || m.Detail != want {
				t.Errorf("%s: member %d reads %+v", name, i, m)
			}
		}
		v := judge(r, victim2)
		if v.Get(guard.LinearizableRead).Passed || !v.Get(guard.MembersReachable).Passed {
			t.Errorf("%s: verdict %+v", name, v)
		}
	}
}

// A certificate may be a user as well: then everything works without the
// login, and the mistake in the password must show all the same.
func TestET32_FailedLoginIsNotCoveredUpByTheCertificate(t *testing.T) {
	fakes := newFakes(t, 3)
	withAuth(fakes)
	for _, f := range fakes {
		f.certificateIsUser = true
	}
	r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{"ops", "guess"})
	for i, m := range r.Members {
		if m.Read != guard.No || m.Problem != guard.Unauthenticated || !strings.HasPrefix(m.Detail, "Authenticate: ") {
			t.Errorf("member %d reads %+v", i, m)
		}
	}
	wantClosed(t, judge(r, victim2), guard.LinearizableRead, guard.QuorumAfter)
}

func TestET32_RefusalsOfTheReadAreMistakesInTheConfiguration(t *testing.T) {
	for name, err := range map[string]error{
		"empty user":    rpctypes.ErrGRPCUserEmpty,
		"invalid token": rpctypes.ErrGRPCInvalidAuthToken,
		"bad CN":        rpctypes.ErrGRPCUserNotFound,
		"unmapped":      status.Error(codes.Unknown, "auth: user name is empty"),
		"gateway":       status.Error(codes.Unauthenticated, "no entry"),
	} {
		fakes := newFakes(t, 3)
		fakes[1].fail["Range"] = err
		r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{})
		if m := r.Members[1]; m.Read != guard.No || m.Problem != guard.Unauthenticated || !strings.HasPrefix(m.Detail, "Range: ") {
			t.Errorf("%s reads %+v", name, m)
		}
		wantClosed(t, judge(r, victim2), guard.LinearizableRead, guard.QuorumAfter)
	}
}

// A certificate whose name is no user is denied the read just as a user
// without rights on the key is.
func TestET32_DeniedReadWithoutLoginAsksWhoWeAre(t *testing.T) {
	for name, c := range map[string]struct {
		list    error
		read    guard.Answer
		problem guard.Problem
		detail  string
	}{
		"a user without rights": {errDenied, guard.Yes, guard.NoProblem, ""},
		"no user":               {rpctypes.ErrGRPCUserNotFound, guard.No, guard.Unauthenticated, "UserList: user name not found"},
		"no answer":             {rpctypes.ErrGRPCTimeout, guard.No, guard.TimedOut, "UserList: request timed out"},
	} {
		fakes := newFakes(t, 3)
		for _, f := range fakes {
			f.fail["Range"], f.fail["UserList"] = errDenied, c.list
		}
		r := patient().Probe(t.Context(), endpointsOf(fakes), Credentials{User: "ops"})
		if m := r.Members[1]; m.Read != c.read || m.Problem != c.problem || !strings.HasPrefix(m.Detail, c.detail) {
			t.Errorf("%s reads %+v", name, m)
		}
		if passed := judge(r, victim2).Get(guard.LinearizableRead).Passed; passed != (c.read == guard.Yes) {
			t.Errorf("%s: gate passed %v", name, passed)
		}
	}
}

func TestAuthenticationIsToldOrInferred(t *testing.T) {
	unimplemented := status.Error(codes.Unimplemented, "unknown method AuthStatus")
	for name, c := range map[string]struct {
		arrange func(*fakeMember)
		who     Credentials
		want    guard.Answer
	}{
		"told no":               {func(*fakeMember) {}, Credentials{}, guard.No},
		"told yes":              {func(f *fakeMember) { f.auth = true }, Credentials{}, guard.Yes},
		"denied":                {func(f *fakeMember) { f.fail["AuthStatus"] = errDenied }, Credentials{}, guard.Yes},
		"login works":           {func(f *fakeMember) { f.auth, f.users = true, map[string]string{"a": "b"} }, Credentials{"a", "b"}, guard.Yes},
		"login not needed":      {func(*fakeMember) {}, Credentials{"a", "b"}, guard.No},
		"3.4, not enabled":      {func(f *fakeMember) { f.fail["AuthStatus"] = unimplemented }, Credentials{}, guard.No},
		"3.4, enabled":          {func(f *fakeMember) { f.fail["AuthStatus"] = unimplemented; f.auth = true }, Credentials{}, guard.Yes},
		"3.4, does not tell":    {func(f *fakeMember) { f.fail["AuthStatus"] = unimplemented; f.hang["Authenticate"] = true }, Credentials{}, guard.Unknown},
		"no answer, not nobody": {func(f *fakeMember) { f.hang["AuthStatus"] = true }, Credentials{}, guard.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fakes := newFakes(t, 1)
			c.arrange(fakes[0])
			if r := quick().Probe(t.Context(), endpointsOf(fakes), c.who); r.Auth != c.want {
				t.Errorf("auth %v, want %v", r.Auth, c.want)
			}
		})
	}
}

func TestPasswordIsNeverPrinted(t *testing.T) {
	who := Credentials{"ops", "tops3cret"}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "who", who)
	text, err := json.Marshal(struct{ Who Credentials }{who})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(who), fmt.Sprintf("%+v %#v %s %q", who, who, who, who), log.String(), string(text)} {
		if strings.Contains(s, "tops3cret") {
			t.Errorf("printed: %s", s)
		}
		if !strings.Contains(s, "ops") {
			t.Errorf("the user is missing: %s", s)
		}
	}
}
