package etcdprobe

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// binariesVariable lists real etcd programs for the tests that run some:
// v3.5.35=/path/to/etcd,v3.6.16=/path/to/etcd
const binariesVariable = "ETCDROLL_ETCD"

// etcdBinaries are the programs by version, in the order given. Without any
// the test is skipped, and says so.
func etcdBinaries(t *testing.T) (versions []string, paths map[string]string) {
	t.Helper()
	paths = map[string]string{}
	for _, entry := range strings.Split(os.Getenv(binariesVariable), ",") {
		if version, path, found := strings.Cut(entry, "="); found {
			versions, paths[version] = append(versions, version), path
		}
	}
	if len(versions) == 0 {
		t.Skipf("%s names no etcd program (v3.6.16=/path,...)", binariesVariable)
	}
	return versions, paths
}

// etcdBinary is the first program whose version begins like this.
func etcdBinary(t *testing.T, version string) string {
	t.Helper()
	versions, paths := etcdBinaries(t)
	for _, v := range versions {
		if strings.HasPrefix(v, version) {
			return paths[v]
		}
	}
	t.Skipf("%s names no etcd %s", binariesVariable, version)
	return ""
}

// realMember is one etcd process.
type realMember struct {
	name, host string
	binary     string
	flags      []string
	log        string
	cmd        *exec.Cmd
}

// realCluster is three etcd processes on loopback addresses of their own.
type realCluster struct {
	members   []*realMember
	endpoints []Endpoint
}

// startCluster runs one member per binary. Flags are added to every member's,
// perMember to those of one.
func startCluster(t *testing.T, binaries []string, perMember func(i int) []string, flags ...string) *realCluster {
	t.Helper()
	scheme := "http"
	if strings.Contains(strings.Join(flags, " "), "--client-cert-auth") {
		scheme = "https"
	}
	subnet := freeSubnet(t)
	c := &realCluster{}
	var initial []string
	for i := range binaries {
		host := fmt.Sprintf("%s.%d", subnet, i+1)
		initial = append(initial, fmt.Sprintf("etcd-%d=http://%s:2380", i, host))
		c.endpoints = append(c.endpoints, Endpoint{Index: i, Address: host + ":2379", Expect: fmt.Sprintf("etcd-%d", i)})
	}
	for i, binary := range binaries {
		m := newRealMember(t, i, binary, scheme, strings.TrimSuffix(c.endpoints[i].Address, ":2379"))
		m.flags = append(m.flags, "--initial-cluster", strings.Join(initial, ","))
		m.flags = append(m.flags, flags...)
		if perMember != nil {
			m.flags = append(m.flags, perMember(i)...)
		}
		c.members = append(c.members, m)
		m.start(t)
	}
	return c
}

func newRealMember(t *testing.T, i int, binary, scheme, host string) *realMember {
	dir := t.TempDir()
	client, peer := fmt.Sprintf("%s://%s:2379", scheme, host), fmt.Sprintf("http://%s:2380", host)
	return &realMember{
		name: fmt.Sprintf("etcd-%d", i), host: host, binary: binary, log: filepath.Join(dir, "log"),
		flags: []string{
			"--name", fmt.Sprintf("etcd-%d", i), "--data-dir", filepath.Join(dir, "data"),
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--log-level", "warn",
		},
	}
}

// freeSubnet is a loopback /24 on which nobody listens.
func freeSubnet(t *testing.T) string {
	t.Helper()
	for range 50 {
		subnet := fmt.Sprintf("127.77.%d", 1+rand.IntN(250))
		listener, err := net.Listen("tcp", subnet+".1:2379")
		if err != nil {
			continue
		}
		_ = listener.Close()
		return subnet
	}
	t.Fatal("no free loopback subnet")
	return ""
}

// start runs the process; it ends with the test, and with the test binary.
func (m *realMember) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	m.cmd = exec.Command(m.binary, m.flags...)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd := m.cmd
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(m.log)
			t.Logf("log of %s ends with:\n%s", m.name, text[max(0, len(text)-2000):])
		}
	})
}

func (m *realMember) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// untilHealthy probes until every gate is open and gives the reading.
func (c *realCluster) untilHealthy(t *testing.T, who Credentials) Reading {
	t.Helper()
	var verdict guard.Verdict
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		r := New(guard.DefaultLimits()).Probe(t.Context(), c.endpoints, who)
		if verdict = judge(r, guard.NoVictim, anyVersion(r)).Without(guard.QuorumAfter); verdict.Open() {
			return r
		}
	}
	t.Fatalf("cluster did not become healthy: %+v", verdict.Objections())
	return Reading{}
}

// anyVersion makes the target what runs already.
func anyVersion(r Reading) func(*guard.Snapshot) {
	return func(s *guard.Snapshot) {
		s.Template.Version = ""
		for _, m := range r.Members {
			s.Template.Version = cmp.Or(s.Template.Version, m.Version)
		}
	}
}

// leader is the index of the agreed leader.
func leader(t *testing.T, r Reading) int {
	t.Helper()
	i := guard.Snapshot{Members: r.Members}.LeaderIndex()
	if i < 0 {
		t.Fatalf("no agreed leader in %+v", r.Members)
	}
	return i
}

// admin is a link for setting a cluster up.
func (c *realCluster) admin(t *testing.T, who Credentials) *link {
	t.Helper()
	l, failure := open(c.endpoints[0], who, 10*time.Second)
	if failure != nil {
		t.Fatal(failure)
	}
	t.Cleanup(l.close)
	if _, failure := l.logIn(t.Context()); failure != nil {
		t.Fatal(failure)
	}
	return l
}

func must(t *testing.T, _ any, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// enableAuth makes a root user, and a user ops whose role reads /ops/ only.
func (c *realCluster) enableAuth(t *testing.T) {
	t.Helper()
	l := c.admin(t, Credentials{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	step := func(_ any, err error) { must(t, nil, err) }
	step(l.auth.UserAdd(ctx, "root", "rootpw"))
	step(l.auth.UserGrantRole(ctx, "root", "root"))
	step(l.auth.RoleAdd(ctx, "reader"))
	step(l.auth.RoleGrantPermission(ctx, "reader", "/ops/", "/ops0", 0))
	step(l.auth.UserAdd(ctx, "ops", "opspw"))
	step(l.auth.UserGrantRole(ctx, "ops", "reader"))
	step(l.auth.AuthEnable(ctx))
}

func three(binary string) []string { return []string{binary, binary, binary} }
