package e2e

import (
	"crypto/tls"
	"encoding/pem"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/access"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
)

const (
	rootSecret   = "etcd-root"
	rootPassword = "right"
)

// createTLS creates a set that wants certificates. Nothing in its configuration
// says so: all is to be derived from the arguments.
func (s *stage) createTLS(o etcdset.Options) *access.Authority {
	s.Helper()
	authority, err := access.NewAuthority(o.Name + " CA")
	s.must(err)
	o.Namespace, o.TLSSecret = s.namespace, o.Name+"-tls"
	s.secret(o.TLSSecret, s.issue(authority, o))
	mine, err := authority.Issue("tester")
	s.must(err)
	o.Access.TLS, err = authority.Client(mine, o.HostNames()[0])
	s.must(err)
	s.createWith(o)
	return authority
}

// issue gives the content of a TLS Secret with a new certificate for the set.
func (s *stage) issue(authority *access.Authority, o etcdset.Options) map[string][]byte {
	s.Helper()
	pair, err := authority.Issue(o.Name, o.HostNames()...)
	s.must(err)
	return map[string][]byte{"ca.crt": authority.PEM, "tls.crt": pair.Cert, "tls.key": pair.Key}
}

// createAuth creates a set that will have authentication, and the Secret with
// the password that the configuration names.
func (s *stage) createAuth(o etcdset.Options) {
	s.Helper()
	o.Config["auth"] = map[string]any{"secretName": rootSecret}
	o.Access.User, o.Access.Password = "root", rootPassword
	s.password(rootPassword)
	o.Shape = cheapPasswords
	s.createWith(o)
}

// cheapPasswords keeps etcd from spending most of a small machine on checking
// passwords, which would starve the leader's heartbeats.
func cheapPasswords(set *appsv1.StatefulSet) {
	etcd := &set.Spec.Template.Spec.Containers[0]
	etcd.Args = append(etcd.Args, "--bcrypt-cost=4")
}

func (s *stage) password(text string) {
	s.Helper()
	s.secret(rootSecret, map[string][]byte{"username": []byte("root"), "password": []byte(text)})
}

func (s *stage) enableAuth() {
	s.Helper()
	s.must(s.set.EnableAuth(s.ctx, rootPassword))
}

// createWith is create for a set whose members want to know who is asking.
func (s *stage) createWith(o etcdset.Options) {
	s.Helper()
	o.Namespace = s.namespace
	var err error
	s.set, err = etcdset.Create(s.ctx, shared.Client, o)
	s.must(err)
	s.observer, err = observer.StartWith(s.ctx, shared.Client, s.namespace, s.set.Name, s.set.Access)
	s.must(err)
	s.Cleanup(s.observer.Stop)
	s.mark = s.observer.Mark()
}

// writeWith is write for such a set.
func (s *stage) writeWith(perSecond int) {
	s.Helper()
	endpoints, err := s.set.Endpoints(s.ctx)
	s.must(err)
	s.writer, err = writer.StartWith(slices.Collect(maps.Values(endpoints)), perSecond, s.set.Access)
	s.must(err)
	s.Cleanup(func() {
		if err := s.writer.Stop(s.ctx); err != nil {
			s.Error(err)
		}
	})
}

// secret creates the Secret or replaces what it holds. Whoever is installed
// after that may read it.
func (s *stage) secret(name string, data map[string][]byte) {
	s.Helper()
	if !slices.Contains(s.secrets, name) {
		s.secrets = append(s.secrets, name)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Data: data}
	secrets := shared.Client.CoreV1().Secrets(s.namespace)
	_, err := secrets.Create(s.ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(s.ctx, secret, metav1.UpdateOptions{})
	}
	s.must(err)
}

// blocked waits until the roll of the present template is blocked with these
// words in reason and message, and checks that nothing was touched for it.
func (s *stage) blocked(words ...string) {
	s.Helper()
	s.must(s.observer.Until(s.ctx, rollsWithin, "not blocked with "+strings.Join(words, ", "), func(v observer.View) bool {
		said := v.Set.Annotations[events.AnnotationReason] + ": " + v.Set.Annotations[events.AnnotationMessage]
		missing := slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(said, w) })
		return v.Set.Observed == v.Set.Generation && v.Set.Annotations[events.AnnotationPhase] == events.PhaseBlocked && !missing
	}))
	s.Log(s.observer.Set().Annotations[events.AnnotationMessage])
	r := s.report()
	safe(s.T, r)
	deleted(s.T, r, map[int]int{})
	moves(s.T, r, 0)
	if len(r.Windows) != 0 || !r.Final.Set.Locked() {
		s.Errorf("opened while blocked: %+v", r.Windows)
	}
}

// serves waits until every member shows the certificate.
func (s *stage) serves(want []byte) {
	s.Helper()
	leaf, _ := pem.Decode(want)
	for deadline := time.Now().Add(formsWithin); ; time.Sleep(200 * time.Millisecond) {
		old := slices.DeleteFunc(s.observer.View().Pods, func(p observer.PodState) bool {
			return slices.Equal(s.shown(p.IP), leaf.Bytes)
		})
		if len(old) == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("pod %d does not serve the new certificate", old[0].Index)
		}
	}
}

// shown is the certificate that a member shows; nil if it shows none.
func (s *stage) shown(ip string) []byte {
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: 2 * time.Second}, "tcp", net.JoinHostPort(ip, strconv.Itoa(etcdset.ClientPort)), s.set.Access.TLS)
	if err != nil {
		return nil
	}
	defer func() { _ = c.Close() }()
	return c.ConnectionState().PeerCertificates[0].Raw
}

// runs checks the version that each member tells.
func (s *stage) runs(version string) {
	s.Helper()
	for i := range s.set.Replicas {
		if last, answers := s.observer.Member(i); !answers || last.Version != version {
			s.Errorf("member %d (answers: %v) runs %s, want %s", i, answers, last.Version, version)
		}
	}
}

func named(name string) etcdset.Options {
	o := quick()
	o.Name = name
	return o
}
