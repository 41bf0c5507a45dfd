package etcdprobe

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

const podName = "etcd-0.etcd.db.svc"

// newSecureFake is one member that shows the certificate and wants one from
// the client that the authority has signed.
func newSecureFake(t *testing.T, ca authority, shown tls.Certificate) Endpoint {
	t.Helper()
	fakes := newFakesTLS(t, 1, &tls.Config{
		Certificates: []tls.Certificate{shown}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool(),
	})
	return endpointsOf(fakes)[0]
}

func TestET35_DialledByAddressVerifiedByName(t *testing.T) {
	ca := newAuthority(t, "ca")
	e := newSecureFake(t, ca, ca.issue(t, "etcd", soon(), podName))
	e.TLS = &tls.Config{RootCAs: ca.pool(), ServerName: podName, Certificates: []tls.Certificate{ca.issue(t, "ops", soon())}}
	r := patient().Probe(t.Context(), []Endpoint{e}, Credentials{})
	if m := r.Members[0]; !m.Reached || m.Read != guard.Yes || m.Problem != guard.NoProblem {
		t.Errorf("member reads %+v", m)
	}
	if got := patient().Leads(t.Context(), e, Credentials{}); got != guard.Yes {
		t.Errorf("leads: %v, want yes", got)
	}
}

func TestET35_CertificateTroubleIsNamed(t *testing.T) {
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other ca")
	client := []tls.Certificate{ca.issue(t, "ops", soon())}
	good := &tls.Config{RootCAs: ca.pool(), ServerName: podName, Certificates: client}
	for name, c := range map[string]struct {
		shown  tls.Certificate
		client *tls.Config
		words  []string
	}{
		"expired":           {ca.issue(t, "etcd", expired(), podName), good, []string{podName, "refused", "expired at 2"}},
		"not yet valid":     {ca.issue(t, "etcd", time.Now().Add(30*time.Hour), podName), good, []string{podName, "not valid before"}},
		"unknown authority": {other.issue(t, "etcd", soon(), podName), good, []string{podName, "unknown authority"}},
		"name mismatch":     {ca.issue(t, "etcd", soon(), "etcd-1.etcd.db.svc"), good, []string{podName, "name mismatch", "etcd-1.etcd.db.svc"}},
		"client without":    {ca.issue(t, "etcd", soon(), podName), &tls.Config{RootCAs: ca.pool(), ServerName: podName}, []string{"refused our client certificate", "certificate required"}},
		"client of another": {ca.issue(t, "etcd", soon(), podName), &tls.Config{RootCAs: ca.pool(), ServerName: podName,
			Certificates: []tls.Certificate{other.issue(t, "ops", soon())}}, []string{"refused our client certificate"}},
		"client expired": {ca.issue(t, "etcd", soon(), podName), &tls.Config{RootCAs: ca.pool(), ServerName: podName,
			Certificates: []tls.Certificate{ca.issue(t, "ops", expired())}}, []string{"refused our client certificate"}},
		"verification off": {ca.issue(t, "etcd", soon(), podName), &tls.Config{InsecureSkipVerify: true, Certificates: client}, []string{"switched off"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newSecureFake(t, ca, c.shown)
			e.TLS = c.client
			r := patient().Probe(t.Context(), []Endpoint{e}, Credentials{})
			m := r.Members[0]
			if m.Reached || m.Read == guard.Yes || m.Problem != guard.CertificateRefused {
				t.Errorf("member reads %+v", m)
			}
			for _, w := range append(c.words, "") {
				if !strings.Contains(m.Detail, w) {
					t.Errorf("detail %q lacks %q", m.Detail, w)
				}
			}
			if strings.Contains(m.Detail, "\n") || len(m.Detail) > 220 {
				t.Errorf("detail is not one short sentence: %q", m.Detail)
			}
			t.Log(m.Detail)
		})
	}
}

func TestET35_PlainAndTLSMixedUpAreToldApart(t *testing.T) {
	ca := newAuthority(t, "ca")
	plain := endpointsOf(newFakes(t, 1))[0]
	plain.TLS = &tls.Config{RootCAs: ca.pool(), ServerName: podName}
	secure := newSecureFake(t, ca, ca.issue(t, "etcd", soon(), podName))
	silent := Endpoint{Address: blackHole(t), TLS: plain.TLS}
	for name, c := range map[string]struct {
		e       Endpoint
		problem guard.Problem
		words   string
	}{
		"TLS to a plain member": {plain, guard.OtherProblem, "does not speak TLS"},
		"plain to a TLS member": {secure, guard.Unreachable, "it may expect TLS"},
		"TLS to a silent one":   {silent, guard.TimedOut, "stayed silent"},
	} {
		r := quick().Probe(t.Context(), []Endpoint{c.e}, Credentials{})
		if m := r.Members[0]; m.Reached || m.Problem != c.problem || !strings.Contains(m.Detail, c.words) {
			t.Errorf("%s reads problem %d: %s", name, m.Problem, m.Detail)
		}
	}
}

// One Prober lives as long as its process; certificates do not.
func TestET34_NextProbeUsesTheCertificateOfTheMoment(t *testing.T) {
	ca := newAuthority(t, "ca")
	e := newSecureFake(t, ca, ca.issue(t, "etcd", soon(), podName))
	p := patient()
	for _, c := range []struct {
		client tls.Certificate
		want   bool
	}{
		{ca.issue(t, "ops", soon()), true},
		{ca.issue(t, "ops", expired()), false},
		{ca.issue(t, "ops", soon()), true},
	} {
		e.TLS = &tls.Config{RootCAs: ca.pool(), ServerName: podName, Certificates: []tls.Certificate{c.client}}
		if m := p.Probe(t.Context(), []Endpoint{e}, Credentials{}).Members[0]; m.Reached != c.want {
			t.Errorf("reached %v, want %v: %s", m.Reached, c.want, m.Detail)
		}
	}
}

// The refusal of our certificate may be overtaken by our own write, which
// then finds the connection closed. It is found all the same.
func TestET35_RefusalBehindABrokenWriteIsFound(t *testing.T) {
	ca := newAuthority(t, "ca")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	refused := make(chan error, 1)
	go func() {
		raw, err := listener.Accept()
		if err == nil {
			server := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "etcd", soon(), podName)},
				ClientAuth: tls.RequireAnyClientCert, NextProtos: []string{"h2"}})
			err = server.Handshake()
			_ = raw.Close()
		}
		refused <- err
	}()
	w := &trace{}
	raw, err := w.dial(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	creds := watchedTLS{credentials.NewTLS(&tls.Config{RootCAs: ca.pool(), ServerName: podName}), w}
	conn, _, err := creds.ClientHandshake(t.Context(), podName, raw)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := <-refused; err == nil {
		t.Fatal("the server took a client without certificate")
	}
	eventually(t, func() bool { _, err := conn.Write([]byte("preface")); return err != nil }, "writing to a closed connection works")
	if _, cause := w.last(); !isAlert(cause) {
		t.Errorf("the cause is %v, want the server's alert", cause)
	}
}
