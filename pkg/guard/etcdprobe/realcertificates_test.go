package etcdprobe

import (
	"crypto/tls"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

func TestRealET35_CertificatesOverAnAddress(t *testing.T) {
	binary := etcdBinary(t, "v3.6")
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other ca")
	dir := t.TempDir()
	writeBlock(t, filepath.Join(dir, "ca.crt"), "CERTIFICATE", ca.cert.Raw)
	shown := []tls.Certificate{
		ca.issue(t, "etcd-0", soon(), serviceName(0)),
		ca.issue(t, "etcd-1", soon(), serviceName(1)),
		ca.issue(t, "etcd-2", soon(), serviceName(2)),
	}
	files := func(i int) []string {
		cert, key := writePEM(t, dir, serviceName(i), shown[i])
		return []string{"--cert-file", cert, "--key-file", key}
	}
	c := startCluster(t, three(binary), files, "--client-cert-auth", "--trusted-ca-file", filepath.Join(dir, "ca.crt"))
	admin := ca.issue(t, "root", soon())
	trust := func(anchor authority, client tls.Certificate) {
		for i := range c.endpoints {
			c.endpoints[i].TLS = &tls.Config{RootCAs: anchor.pool(), ServerName: serviceName(i), Certificates: []tls.Certificate{client}}
		}
	}
	trust(ca, admin)
	c.untilHealthy(t, Credentials{})

	trust(other, admin)
	wantDetail(t, c, guard.CertificateRefused, "unknown authority", "unknown authority", "unknown authority")
	trust(ca, ca.issue(t, "root", expired()))
	wantDetail(t, c, guard.CertificateRefused, "refused our client certificate", "refused our client certificate", "refused our client certificate")
	trust(ca, admin)
	// etcd reads its certificate anew for each connection.
	shown[1], shown[2] = ca.issue(t, "etcd-1", expired(), serviceName(1)), ca.issue(t, "etcd-2", soon(), "elsewhere.db.svc")
	files(1)
	files(2)
	wantDetail(t, c, guard.CertificateRefused, "", "expired", "name mismatch")
	shown[1], shown[2] = ca.issue(t, "etcd-1", soon(), serviceName(1)), ca.issue(t, "etcd-2", soon(), serviceName(2))
	files(1)
	files(2)
	c.untilHealthy(t, Credentials{})
	realCommonNameIsTheUser(t, c, func(name string) { trust(ca, ca.issue(t, name, soon())) })
}

// realCommonNameIsTheUser goes on with a cluster whose clients show
// certificates: without a password etcd takes the common name for the user.
func realCommonNameIsTheUser(t *testing.T, c *realCluster, as func(name string)) {
	t.Helper()
	c.enableAuth(t)
	r := c.untilHealthy(t, Credentials{})
	if r.Auth != guard.Yes {
		t.Errorf("auth %v, want yes", r.Auth)
	}
	i := leader(t, r)
	p := patient()
	as("ops")
	if r := c.untilHealthy(t, Credentials{}); r.Auth != guard.Yes {
		t.Errorf("auth %v, want yes", r.Auth)
	}
	if err := p.MoveLeader(t.Context(), c.endpoints[i], Credentials{}, r.Members[(i+1)%3].ID); !errors.Is(err, ErrPermissionDenied) {
		t.Errorf("a move by ops gives %v, want ErrPermissionDenied", err)
	}
	as("root")
	if err := p.MoveLeader(t.Context(), c.endpoints[i], Credentials{}, r.Members[(i+1)%3].ID); err != nil {
		t.Error(err)
	}
	as("stranger") // may connect, and is no user
	stranger := p.Probe(t.Context(), c.endpoints, Credentials{})
	if m := stranger.Members[0]; m.Read != guard.No || m.Problem != guard.Unauthenticated || !strings.HasPrefix(m.Detail, "UserList: user name not found") {
		t.Errorf("a stranger reads %+v", m)
	}
	if err := p.MoveLeader(t.Context(), c.endpoints[(i+1)%3], Credentials{}, r.Members[i].ID); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("a move by a stranger gives %v, want ErrUnauthenticated", err)
	}
	// With a login beside the certificate the login counts.
	wantOpen := p.Probe(t.Context(), c.endpoints, root)
	wantClosed(t, judge(wantOpen, guard.Plan{Victim: i}, anyVersion(wantOpen)))
}

func serviceName(i int) string { return "etcd-" + string(rune('0'+i)) + ".etcd.db.svc" }

// wantDetail asserts what each member's detail says; "" means no problem.
func wantDetail(t *testing.T, c *realCluster, problem guard.Problem, details ...string) {
	t.Helper()
	r := patient().Probe(t.Context(), c.endpoints, Credentials{})
	for i, want := range details {
		m := r.Members[i]
		expected := problem
		if want == "" {
			expected = guard.NoProblem
		}
		if m.Problem != expected || !strings.Contains(m.Detail, want) || m.Reached != (want == "") {
			t.Errorf("member %d reads problem %d %q, want %q", i, m.Problem, m.Detail, want)
		}
	}
}
