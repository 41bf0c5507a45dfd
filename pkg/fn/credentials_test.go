package fn

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// pair makes a self-signed certificate that is valid around noon.
func pair(t *testing.T, name string, until time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: noon.Add(-time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// secureWorld is a healthy cluster with TLS, out of date, with its Secret.
func secureWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(3).outdated()
	status := w.set.Status
	w.set = secureSet()
	w.set.Status = status
	cert, key := pair(t, "etcd", noon.Add(time.Hour))
	w.secrets["etcd-tls"] = &corev1.Secret{Data: map[string][]byte{"ca.crt": cert, "tls.crt": cert, "tls.key": key}}
	return w
}

func read(t *testing.T, w *world, config string) (credentials, *roll.ConfigProblem, error) {
	t.Helper()
	s, problem := Configure(w.set, config)
	if problem != nil {
		t.Fatal(problem.Message)
	}
	return readCredentials(context.Background(), w, w.set, s, w.now)
}

func TestEveryFaultOfCredentialsNamesSecretAndKey(t *testing.T) {
	const password = "s3cr3t-value"
	expiredCert, expiredKey := pair(t, "old", noon.Add(-time.Minute))
	_, foreignKey := pair(t, "other", noon.Add(time.Hour))
	set := func(key string, value []byte) func(*world) {
		return func(w *world) { w.secrets["etcd-tls"].Data[key] = value }
	}
	for name, c := range map[string]struct {
		change func(*world)
		config string
		names  []string
	}{
		"no secret":    {func(w *world) { delete(w.secrets, "etcd-tls") }, "", []string{"Secret etcd-tls", "ca.crt", "does not exist", "db"}},
		"no right":     {func(w *world) { w.fails["get secret etcd-tls"] = []error{forbidden("secrets")} }, "", []string{"Secret etcd-tls", "right", "Role"}},
		"missing key":  {func(w *world) { delete(w.secrets["etcd-tls"].Data, "tls.key") }, "", []string{"Secret etcd-tls", "tls.key", "missing"}},
		"empty key":    {set("tls.crt", nil), "", []string{"tls.crt", "missing or empty"}},
		"CA is no PEM": {set("ca.crt", []byte(password)), "", []string{"Secret etcd-tls", "ca.crt", "no PEM"}},
		"foreign key":  {set("tls.key", foreignKey), "", []string{"tls.crt", "tls.key", "no usable pair"}},
		"expired":      {func(w *world) { set("tls.crt", expiredCert)(w); set("tls.key", expiredKey)(w) }, "", []string{"tls.crt", `"old"`, "valid from"}},
		"path on no secret": {func(w *world) {
			w.set.Spec.Template.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		}, "", []string{"/etc/etcd/tls/", "volume tls", "tls.secretName"}},
		"path on no volume": {func(w *world) { w.set.Spec.Template.Spec.Containers[0].VolumeMounts = nil }, "", []string{"/etc/etcd/tls/", "no volume", "container etcd"}},
		"named secret":      {func(w *world) {}, "tls: {secretName: other}", []string{"Secret other", "ca.crt"}},
		"bad name":          {func(w *world) {}, "tls: {secretName: ../x}", []string{`"../x"`, "Secret"}},
		"no user": {func(w *world) {
			w.secrets["user"] = &corev1.Secret{Data: map[string][]byte{"password": []byte(password)}}
		}, "auth: {secretName: user}", []string{"Secret user", "username"}},
	} {
		w := secureWorld(t)
		c.change(w)
		_, problem, err := read(t, w, c.config)
		if problem == nil || err != nil || problem.Reason != roll.ReasonCredentialsInvalid {
			t.Errorf("%s: %v, %v", name, problem, err)
			continue
		}
		for _, want := range c.names {
			if !strings.Contains(problem.Message, want) {
				t.Errorf("%s: %q does not name %s", name, problem.Message, want)
			}
		}
		if strings.Contains(problem.Message, password) || strings.Contains(problem.Message, "BEGIN") {
			t.Errorf("%s: the message holds a secret: %s", name, problem.Message)
		}
	}
}

func TestServerThatIsSlowToGiveASecretIsNoFaultOfConfiguration(t *testing.T) {
	w := secureWorld(t)
	w.fails["get secret etcd-tls"] = []error{errors.New("connection reset")}
	if _, problem, err := read(t, w, ""); problem != nil || err == nil {
		t.Errorf("problem %v, error %v", problem, err)
	}
}

func TestUserAndPasswordComeFromTheSecret(t *testing.T) {
	w := newWorld(3)
	w.secrets["user"] = &corev1.Secret{Data: map[string][]byte{"username": []byte("root\n"), "password": []byte("pa ss\n")}}
	c, problem, err := read(t, w, "auth: {secretName: user}")
	if problem != nil || err != nil || c.who.User != "root" || c.who.Password != "pa ss" || c.tls != nil {
		t.Errorf("%+v, %v, %v", c, problem, err)
	}
}

func TestET35_ET36_MembersAreDialledAtThePodsIPUnderThePodsName(t *testing.T) {
	w := secureWorld(t)
	w.pods["etcd-1"].Status.PodIP = "fd00::7"
	w.pods["etcd-2"].Status.PodIP = ""
	s, _, err := observer(w).Decide(context.Background(), events.Target{Namespace: "db", Name: "etcd"}, roll.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	e := s.endpoints
	if e[0].Address != "10.0.0.6:3379" || e[1].Address != "[fd00::7]:3379" || !e[2].Absent || e[0].Absent {
		t.Errorf("endpoints %+v", e)
	}
	if got := e[1].TLS.ServerName; got != "etcd-1.etcd.db.svc" || e[0].TLS.ServerName == got {
		t.Errorf("server names %q and %q", e[0].TLS.ServerName, got)
	}
}

func TestET34_RotatedCertificateIsUsedFromTheNextLookOn(t *testing.T) {
	w := secureWorld(t)
	first, _, err := observer(w).Decide(t.Context(), target, roll.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	cert, key := pair(t, "renewed", noon.Add(time.Hour))
	w.secrets["etcd-tls"].Data["tls.crt"], w.secrets["etcd-tls"].Data["tls.key"] = cert, key
	second, _, err := observer(w).Decide(t.Context(), target, roll.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	name := func(s *Sight) string { return s.endpoints[0].TLS.Certificates[0].Leaf.Subject.CommonName }
	if name(first) != "etcd" || name(second) != "renewed" {
		t.Errorf("presented %s, then %s", name(first), name(second))
	}
}

func observer(w *world) *Observer {
	began := time.Now()
	return &Observer{API: w, Members: func(guard.Limits) Members { return w }, Clock: func() time.Time { return began }, Log: slog.New(slog.DiscardHandler)}
}

func TestCredentialsThatNoMemberAcceptsAreOursToMend(t *testing.T) {
	for name, refusing := range map[string]int{"all": 3, "one": 1} {
		w := secureWorld(t)
		for i := range refusing {
			*w.members[i] = guard.Member{Problem: guard.CertificateRefused, Detail: "Status: certificate of etcd-" + string(rune('0'+i)) + ".etcd.db.svc refused: expired"}
		}
		s, d, err := observer(w).Decide(context.Background(), events.Target{Namespace: "db", Name: "etcd"}, roll.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		if refusing == 3 && (d.Reason != roll.ReasonCredentialsInvalid || !strings.Contains(d.Message, "Secret etcd-tls key ca.crt") || !strings.Contains(d.Message, "etcd-0.etcd.db.svc")) {
			t.Errorf("%s: %s: %s", name, d.Reason, d.Message)
		}
		if refusing == 1 && (d.Outcome != roll.Blocked || d.Reason == roll.ReasonCredentialsInvalid || s.Config != nil || !strings.Contains(d.Message, "etcd-0.etcd.db.svc")) {
			t.Errorf("%s: %s: %s", name, d.Reason, d.Message)
		}
	}
}

func TestNoSecretByteIsLogged(t *testing.T) {
	w := secureWorld(t)
	w.secrets["user"] = &corev1.Secret{Data: map[string][]byte{"username": []byte("root"), "password": []byte("s3cr3t-value")}}
	w.set.Annotations[events.AnnotationConfig] = "roll"
	w.configs["roll"] = &corev1.ConfigMap{Data: map[string]string{ConfigKey: "auth: {secretName: user}"}}
	var log bytes.Buffer
	h := handler(w)
	h.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	post(t, h, diverged())
	if log.Len() == 0 || strings.Contains(log.String(), "s3cr3t-value") || strings.Contains(log.String(), "PRIVATE") {
		t.Errorf("log: %s", log.String())
	}
}
