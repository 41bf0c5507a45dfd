package etcdprobe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// rightsDocument holds the table that TestRealET31_RightsAreAsDocumented
// measures.
const rightsDocument = "../../../docs/rights-in-etcd.md"

// asked are the calls of etcdroll, each as etcd names it.
var asked = []struct {
	name string
	ask  func(context.Context, *link, uint64) *Failure
}{
	{"Status", func(ctx context.Context, l *link, _ uint64) *Failure { _, f := l.status(ctx); return f }},
	{"MemberList", func(ctx context.Context, l *link, _ uint64) *Failure { _, f := l.peers(ctx); return f }},
	{"Range", func(ctx context.Context, l *link, _ uint64) *Failure {
		_, f := call(ctx, l, "Range", func(ctx context.Context) (*clientv3.GetResponse, error) { return l.kv.Get(ctx, readKey) })
		return f
	}},
	{"Alarm", func(ctx context.Context, l *link, _ uint64) *Failure { _, f := l.alarms(ctx); return f }},
	{"AuthStatus", func(ctx context.Context, l *link, _ uint64) *Failure {
		_, f := call(ctx, l, "AuthStatus", func(ctx context.Context) (*clientv3.AuthStatusResponse, error) { return l.auth.AuthStatus(ctx) })
		return f
	}},
	{"HashKV", func(ctx context.Context, l *link, _ uint64) *Failure {
		_, f := call(ctx, l, "HashKV", func(ctx context.Context) (*clientv3.HashKVResponse, error) {
			return l.maintenance.HashKV(ctx, l.endpoint.Address, 0)
		})
		return f
	}},
	{"MoveLeader", func(ctx context.Context, l *link, to uint64) *Failure {
		_, f := call(ctx, l, moveLeader, func(ctx context.Context) (*clientv3.MoveLeaderResponse, error) {
			return l.maintenance.MoveLeader(ctx, to)
		})
		return f
	}},
}

// outcome is a cell of the table.
func outcome(f *Failure) string {
	switch {
	case f == nil:
		return "yes"
	case f.Problem == guard.PermissionDenied:
		return "denied"
	case f.Problem == guard.Unauthenticated:
		return "who are you"
	}
	return f.Error()
}

func TestRealET31_RightsAreAsDocumented(t *testing.T) {
	versions, paths := etcdBinaries(t)
	text, err := os.ReadFile(rightsDocument)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c := startCluster(t, three(paths[version]), nil, "--bcrypt-cost", "4")
			c.untilHealthy(t, Credentials{})
			c.enableAuth(t)
			for _, user := range []struct {
				who  Credentials
				name string
			}{{Credentials{}, "nobody"}, {ops, "a user without rights on the key"}, {root, "a user with role root"}} {
				row := c.rightsRow(t, version, user.name, user.who)
				t.Log(row)
				if !strings.Contains(string(text), row+"\n") {
					t.Errorf("not in the document: %s", row)
				}
			}
		})
	}
}

// rightsRow asks the leader everything as one user.
func (c *realCluster) rightsRow(t *testing.T, version, name string, who Credentials) string {
	t.Helper()
	r := c.untilHealthy(t, root)
	i := leader(t, r)
	l, failure := open(c.endpoints[i], who, 5*time.Second)
	if failure != nil {
		t.Fatal(failure)
	}
	defer l.close()
	if _, failure := l.logIn(t.Context()); failure != nil {
		t.Fatal(failure)
	}
	cells := []string{strings.TrimPrefix(version, "v"), name}
	for _, a := range asked {
		cells = append(cells, outcome(a.ask(t.Context(), l, uint64(r.Members[(i+1)%3].ID))))
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// statusForUsers says that the version tells Status to every user, and to
// nobody else.
func statusForUsers(version string) bool {
	v := guard.ParseVersion(version)
	since := map[string]guard.Version{"3.5": {Major: 3, Minor: 5, Patch: 32}, "3.6": {Major: 3, Minor: 6, Patch: 12}}[v.Line()]
	return v.AtLeast(since)
}

func TestRealProbeWithAuthentication(t *testing.T) {
	versions, paths := etcdBinaries(t)
	for _, version := range versions {
		if !statusForUsers(version) {
			continue
		}
		t.Run(version, func(t *testing.T) {
			c := startCluster(t, three(paths[version]), nil)
			c.untilHealthy(t, Credentials{})
			c.enableAuth(t)
			r := c.untilHealthy(t, root)
			quickest(t, c, root, time.Second) // etcd spends most of it on the password's hash
			c.probeAsOthers(t)
			c.moveAsOthers(t, r)
		})
	}
}

var root, ops, guess = Credentials{"root", "rootpw"}, Credentials{"ops", "opspw"}, Credentials{"root", "guess"}

func (c *realCluster) probeAsOthers(t *testing.T) {
	t.Helper()
	if r := c.untilHealthy(t, ops); r.Auth != guard.Yes || r.AlarmsRead != guard.Yes {
		t.Errorf("as ops: auth %v, alarms read %v", r.Auth, r.AlarmsRead)
	}
	for who, detail := range map[Credentials]string{
		guess: "Authenticate: authentication failed, invalid user ID or password",
		{}:    "Status: user name is empty",
	} {
		r := patient().Probe(t.Context(), c.endpoints, who)
		for i, m := range r.Members {
			if m.Reached || m.Read == guard.Yes || m.Problem != guard.Unauthenticated || !strings.HasPrefix(m.Detail, detail) {
				t.Errorf("%s: member %d reads %+v", who, i, m)
			}
		}
		if r.Auth != guard.Yes {
			t.Errorf("%s: auth %v, want yes", who, r.Auth)
		}
	}
}

func (c *realCluster) moveAsOthers(t *testing.T, r Reading) {
	t.Helper()
	p := patient()
	from := leader(t, r)
	to := (from + 1) % 3
	if err := p.MoveLeader(t.Context(), c.endpoints[from], ops, r.Members[to].ID); !errors.Is(err, ErrPermissionDenied) {
		t.Errorf("a move by ops gives %v, want ErrPermissionDenied", err)
	}
	if err := p.MoveLeader(t.Context(), c.endpoints[from], guess, r.Members[to].ID); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("a move with a wrong password gives %v, want ErrUnauthenticated", err)
	}
	if err := p.MoveLeader(t.Context(), c.endpoints[from], root, r.Members[to].ID); err != nil {
		t.Errorf("a move by root: %v", err)
	}
	if got := leader(t, c.untilHealthy(t, root)); got != to {
		t.Errorf("leader is %d, want %d", got, to)
	}
	if got := p.Leads(t.Context(), c.endpoints[to], ops); got != guard.Yes {
		t.Errorf("asked as ops, the leader leads: %v", got)
	}
}

// In the middle of a roll over the patch that changed the rights, the old
// members answer and the new one does not.
func TestRealET31_MixedPatchesAnswerDifferently(t *testing.T) {
	old, new := etcdBinary(t, "v3.5.24"), etcdBinary(t, "v3.5.35")
	c := startCluster(t, []string{old, old, new}, nil, "--bcrypt-cost", "4")
	c.untilHealthy(t, Credentials{})
	c.enableAuth(t)
	c.untilHealthy(t, root)
	r := patient().Probe(t.Context(), c.endpoints, Credentials{})
	for i, m := range r.Members {
		if m.Reached != (i < 2) || m.Problem != guard.Unauthenticated {
			t.Errorf("member %d reads %+v", i, m)
		}
	}
	f := judge(r, guard.Plan{Victim: 1}, anyVersion(r)).Get(guard.MembersReachable)
	if f.Passed || !strings.Contains(f.Measured, "etcd-2 did not answer: Status: user name is empty") {
		t.Errorf("judged %+v", f)
	}
	fmt.Fprintln(t.Output(), f.Measured)
}
