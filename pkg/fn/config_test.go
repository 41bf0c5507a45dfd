package fn

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// line finds one setting in the explanation.
func line(t *testing.T, s Settings, key string) Line {
	t.Helper()
	lines := s.Explain()
	i := slices.IndexFunc(lines, func(l Line) bool { return l.Key == key })
	if i < 0 {
		t.Fatalf("key %s is not explained", key)
	}
	return lines[i]
}

func TestConfigurationOfTheShellRolloutWorksUnchanged(t *testing.T) {
	text, err := os.ReadFile("testdata/shell-rollout.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set := secureSet()
	s, problem := Configure(set, string(text))
	if problem != nil {
		t.Fatal(problem.Message)
	}
	if s.Port != 2379 || !s.TLS || s.CAFile != "/etc/etcd/tls/ca.crt" || s.CertFile != "/etc/etcd/tls/client.crt" || s.Limits.Cooldown != 45*time.Second ||
		s.Limits.ReadyTimeout != 400*time.Second || s.Limits.HealthTimeout != 90*time.Second {
		t.Errorf("got %+v", s)
	}
}

func TestEverythingIsDerivedFromTheSetWhenNothingIsSaid(t *testing.T) {
	s, problem := Configure(secureSet(), "")
	if problem != nil {
		t.Fatal(problem.Message)
	}
	for key, want := range map[string]Line{
		"serviceName":     {Value: "etcd", Origin: "spec.serviceName of the set"},
		"clientPort":      {Value: "3379", Origin: "argument --listen-client-urls"},
		"tls.enabled":     {Value: "true", Origin: "argument --listen-client-urls"},
		"tls.caFile":      {Value: "/etc/etcd/tls/ca.crt", Origin: "environment ETCD_TRUSTED_CA_FILE"},
		"tls.certFile":    {Value: "/etc/etcd/tls/tls.crt", Origin: "argument --cert-file"},
		"tls.keyFile":     {Value: "/etc/etcd/tls/tls.key", Origin: "argument --key-file"},
		"tls.serverName":  {Value: "{pod}.{service}.{namespace}.svc", Origin: "default"},
		"cooldownSeconds": {Value: "30s", Origin: "default"},
	} {
		if got := line(t, s, key); got.Value != want.Value || got.Origin != want.Origin {
			t.Errorf("%s: %s from %s", key, got.Value, got.Origin)
		}
	}
	if s.Limits != guard.DefaultLimits() {
		t.Errorf("limits %+v", s.Limits)
	}
}

// secureSet is a set whose etcd serves TLS from a Secret.
func secureSet() *appsv1.StatefulSet {
	set := etcdSet(3)
	spec := &set.Spec.Template.Spec
	c := &spec.Containers[0]
	c.Args = []string{"--data-dir=/var/lib/etcd/data", "--listen-client-urls=http://127.0.0.1:2379,https://$(POD_IP):3379",
		"--cert-file=/etc/etcd/tls/tls.crt", "--key-file=/etc/etcd/tls/tls.key"}
	c.Env = []corev1.EnvVar{{Name: "ETCD_TRUSTED_CA_FILE", Value: "/etc/etcd/tls/ca.crt"}}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "tls", MountPath: "/etc/etcd/tls"})
	spec.Volumes = []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "etcd-tls"}}}}
	return set
}

func TestPortAndSchemeAreDerivedFromWhateverTells(t *testing.T) {
	for name, c := range map[string]struct {
		container corev1.Container
		port      int
		tls       bool
	}{
		"nothing":             {corev1.Container{Name: "etcd"}, 2379, false},
		"advertised only":     {corev1.Container{Name: "etcd", Command: []string{"etcd", "--advertise-client-urls=http://$(N).etcd:4379"}}, 4379, false},
		"environment":         {corev1.Container{Name: "etcd", Env: []corev1.EnvVar{{Name: "P", Value: "5379"}, {Name: "ETCD_LISTEN_CLIENT_URLS", Value: "http://0.0.0.0:$(P)"}}}, 5379, false},
		"unknown port":        {corev1.Container{Name: "etcd", Command: []string{"etcd", "--listen-client-urls=http://[::]:$(P)"}, Ports: []corev1.ContainerPort{{Name: "client", ContainerPort: 6379}}}, 6379, false},
		"named port":          {corev1.Container{Name: "x", Ports: []corev1.ContainerPort{{Name: "peer", ContainerPort: 2380}, {Name: "client", ContainerPort: 7379}}}, 7379, false},
		"loopback only":       {corev1.Container{Name: "etcd", Command: []string{"etcd", "--listen-client-urls=http://localhost:8379"}}, 8379, false},
		"IPv6":                {corev1.Container{Name: "etcd", Command: []string{"etcd", "--listen-client-urls=http://[::1]:1,http://[fd00::1]:9379"}}, 9379, false},
		"TLS before plain":    {corev1.Container{Name: "etcd", Command: []string{"etcd", "--listen-client-urls=http://0.0.0.0:1111,https://0.0.0.0:2222", "--cert-file=/a", "--key-file=/b"}}, 2222, true},
		"script":              {corev1.Container{Name: "etcd", Command: []string{"sh", "-c", "exec etcd --listen-client-urls http://${POD_IP}:3333 --name=$N"}}, 3333, false},
		"unix socket besides": {corev1.Container{Name: "etcd", Command: []string{"etcd", "--listen-client-urls=unix:///x,http://0.0.0.0:4444"}}, 4444, false},
	} {
		set := etcdSet(3)
		set.Spec.Template.Spec.Containers = []corev1.Container{c.container}
		s, problem := Configure(set, "")
		if problem != nil || s.Port != c.port || s.TLS != c.tls {
			t.Errorf("%s: port %d, TLS %t, problem %v", name, s.Port, s.TLS, problem)
		}
	}
}

func TestConfigurationWinsOverWhatTheSetShows(t *testing.T) {
	s, problem := Configure(secureSet(), "clientPort: 2379\ntls: {enabled: false}\n")
	if problem != nil || s.Port != 2379 || s.TLS {
		t.Errorf("plain port: %+v, %v", s, problem)
	}
	if got := line(t, s, "clientPort").Origin; got != "config.yaml key clientPort" {
		t.Errorf("origin %s", got)
	}
}

func TestCAIsLookedForBesideTheCertificate(t *testing.T) {
	set := secureSet()
	set.Spec.Template.Spec.Containers[0].Env = nil
	s, problem := Configure(set, "")
	if problem != nil || s.CAFile != "/etc/etcd/tls/ca.crt" || !strings.Contains(string(line(t, s, "tls.caFile").Origin), "beside") {
		t.Errorf("%+v, %v", s, problem)
	}
}

func TestThresholdsReachTheLimits(t *testing.T) {
	s, problem := Configure(etcdSet(3), `
cooldownSeconds: 5
readyTimeoutSeconds: "120"
healthTimeoutSeconds: 20
allowDowntime: true
gates:
  termStable: {quietSeconds: 7}
  caughtUp: {maxLag: 9, ratio: 0.9}
  headroom: {note: 0.5, stop: 0.6}
  templateLint: {minGraceSeconds: 3, allowEphemeral: "true"}
steps: {armWindowSeconds: 4, candidateUpSeconds: 8, slowReadMilliseconds: 250, attempts: 2, moveTries: 4, revisionsPerHour: 6}
`)
	if problem != nil {
		t.Fatal(problem.Message)
	}
	want := guard.DefaultLimits()
	want.Cooldown, want.ReadyTimeout, want.HealthTimeout = 5*time.Second, 2*time.Minute, 20*time.Second
	want.AllowDowntime, want.AllowEphemeral = true, true
	want.TermQuiet, want.MaxLag, want.CatchUpRatio = 7*time.Second, 9, 0.9
	want.HeadroomNote, want.HeadroomStop, want.MinGrace = 0.5, 0.6, 3*time.Second
	want.ArmWindow, want.CandidateUp, want.SlowRead = 4*time.Second, 8*time.Second, 250*time.Millisecond
	want.Attempts, want.MoveTries, want.RevisionsPerHour = 2, 4, 6
	if s.Limits != want {
		t.Errorf("got  %+v\nwant %+v", s.Limits, want)
	}
}

func TestEveryMistakeNamesKeyValueAndRemedy(t *testing.T) {
	for text, names := range map[string][]string{
		"cooldownSecond: 3":                         {`"cooldownSecond"`, "unknown key", "cooldownSeconds"},
		"tls: {cafile: /x}":                         {`"tls.cafile"`, "unknown key", "caFile"},
		"gates: {caughtUp: {lag: 3}}":               {`"gates.caughtUp.lag"`, "maxLag"},
		"gates: {unheardOf: {x: 1}}":                {`"gates.unheardOf"`, "caughtUp"},
		"cooldownSeconds: soon":                     {"cooldownSeconds", `"soon"`, "whole number"},
		"cooldownSeconds: -1":                       {"cooldownSeconds", `"-1"`, "from 0"},
		"cooldownSeconds: 1.5":                      {"cooldownSeconds", `"1.5"`, "whole number"},
		"clientPort: 70000":                         {"clientPort", `"70000"`, "65535"},
		"clientPort: .nan":                          {"NaN"},
		"tls: {enabled: maybe}":                     {"tls.enabled", `"maybe"`, "true or false"},
		"tls: yes":                                  {"tls", "no mapping", "caFile"},
		"gates: {headroom: {stop: 2}}":              {"gates.headroom.stop", `"2"`, "from 0 to 1"},
		"gates: {headroom: {note: 0.9, stop: 0.5}}": {"gates.headroom.note", "0.9", "lower it"},
		"stsName: other":                            {"stsName", `"other"`, `"etcd"`},
		"namespace: elsewhere":                      {"namespace", `"elsewhere"`, `"db"`},
		"serviceName: [a]":                          {"serviceName", "text"},
		"auth: {secretName: 3}":                     {"auth.secretName", `"3"`, "text"},
		"tls: {enabled: false, secretName: s}":      {"tls.secretName", "tls.enabled", "remove one"},
		"tls: {enabled: true}":                      {"tls.enabled", "true", "http", "correct or remove"},
		"clientPort: 2379\nclientPort: 2380":        {"unique keys", "clientPort"},
		"- a":                                       {"mapping"},
		"just text":                                 {"mapping"},
		"tls: {serverName: '{host}.x'}":             {"tls.serverName", "{host}", "{pod}"},
		"a: 1\nb: 2":                                {`"a"`, `"b"`},
		"tls: {enabled: true, secretName: s, caFile: /x}\nclientPort: 9": {"tls.caFile", "tls.secretName", "remove one"},
		"tls: {enabled: true, certFile: /x}\nclientPort: 9":              {"tls.certFile", "tls.keyFile"},
		"tls: {enabled: true}\nclientPort: 9":                            {"tls.secretName", "--cert-file"},
	} {
		s, problem := Configure(etcdSet(3), text)
		if problem == nil || problem.Reason != roll.ReasonConfigInvalid {
			t.Errorf("%q is accepted: %+v", text, s)
			continue
		}
		for _, name := range names {
			if !strings.Contains(problem.Message, name) {
				t.Errorf("%q: %s does not name %s", text, problem.Message, name)
			}
		}
	}
}

func TestEmptyGroupsAndKeysSayNothing(t *testing.T) {
	s, problem := Configure(etcdSet(3), "tls:\ngates:\ncooldownSeconds:\n")
	if problem != nil || s.Limits != guard.DefaultLimits() {
		t.Errorf("%+v, %v", s, problem)
	}
}

func TestBrokenConfigurationLeavesTheDocumentedThresholds(t *testing.T) {
	s, problem := Configure(etcdSet(3), "readyTimeoutSeconds: 1\nnonsense: true\n")
	if problem == nil || s.Limits != guard.DefaultLimits() {
		t.Errorf("%+v, %v", s.Limits, problem)
	}
}

func TestSelfMadeCertificatesAreNotTrusted(t *testing.T) {
	set := etcdSet(3)
	set.Spec.Template.Spec.Containers[0].Args = []string{"--auto-tls", "--listen-client-urls=https://0.0.0.0:2379"}
	if _, problem := Configure(set, ""); problem == nil || !strings.Contains(problem.Message, "--auto-tls") {
		t.Errorf("got %v", problem)
	}
}

func TestTLSWithoutAServiceNeedsAName(t *testing.T) {
	set := secureSet()
	set.Spec.ServiceName = ""
	if _, problem := Configure(set, ""); problem == nil || !strings.Contains(problem.Message, "tls.serverName") {
		t.Errorf("got %v", problem)
	}
	if _, problem := Configure(set, "tls: {serverName: etcd.example}"); problem != nil {
		t.Errorf("with a fixed name: %v", problem.Message)
	}
}

func TestNoEtcdToBeFoundIsSaidUnlessTheConfigurationTells(t *testing.T) {
	set := etcdSet(3)
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a"}, {Name: "b"}}
	if _, problem := Configure(set, ""); problem == nil || !strings.Contains(problem.Message, "clientPort") {
		t.Errorf("got %v", problem)
	}
	if _, problem := Configure(set, "clientPort: 2379\ntls: {enabled: false}"); problem != nil {
		t.Errorf("told: %v", problem.Message)
	}
}

func TestEveryKeyIsExplained(t *testing.T) {
	s := newSettings()
	for _, l := range s.Explain() {
		if l.About == "" || l.Origin == "" {
			t.Errorf("%s: %+v", l.Key, l)
		}
	}
}
