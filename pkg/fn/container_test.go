package fn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestEtcdIsFoundByCommandPortNameOrForLackOfAnother(t *testing.T) {
	sidecar := corev1.Container{Name: "exporter", Command: []string{"/bin/exporter"}, Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9100}}}
	for name, c := range map[string]corev1.Container{
		"command":          {Name: "db", Command: []string{"/usr/local/bin/etcd"}},
		"argument":         {Name: "db", Command: []string{"/bin/wrap"}, Args: []string{"etcd", "--name=x"}},
		"script":           {Name: "db", Command: []string{"/bin/sh", "-ec", "set -x\nexec /usr/bin/etcd --name ${HOSTNAME}"}},
		"image's entry":    {Name: "db", Args: []string{"--name=x", "--listen-client-urls=http://0.0.0.0:2379"}},
		"port number":      {Name: "db", Ports: []corev1.ContainerPort{{ContainerPort: 2379}}},
		"port name":        {Name: "db", Ports: []corev1.ContainerPort{{Name: "client", ContainerPort: 12379}}},
		"container's name": {Name: "etcd"},
	} {
		spec := &corev1.PodSpec{Containers: []corev1.Container{sidecar, c}}
		got, found := findEtcd(spec)
		if !found || got.container.Name != c.Name {
			t.Errorf("%s: not found", name)
		}
	}
	if _, found := findEtcd(&corev1.PodSpec{Containers: []corev1.Container{sidecar, {Name: "other"}}}); found {
		t.Error("found where nothing tells")
	}
	if got, found := findEtcd(&corev1.PodSpec{Containers: []corev1.Container{{Name: "alone"}}}); !found || got.container.Name != "alone" {
		t.Error("the only container is not taken")
	}
	if _, found := findEtcd(&corev1.PodSpec{}); found {
		t.Error("found in no containers")
	}
}

func TestCommandOutweighsAPortOfAnotherContainer(t *testing.T) {
	spec := &corev1.PodSpec{Containers: []corev1.Container{
		{Name: "proxy", Ports: []corev1.ContainerPort{{Name: "client", ContainerPort: 2379}}},
		{Name: "db", Command: []string{"etcd"}},
	}}
	if got, _ := findEtcd(spec); got.container.Name != "db" {
		t.Errorf("found %s", got.container.Name)
	}
}

func TestFlagsAreReadInEveryForm(t *testing.T) {
	got := parseFlags([]string{"--name=x", "-data-dir", "/d", "--client-cert-auth", "--quota-backend-bytes", "-1", "--initial-cluster=a=http://b:1,c=http://d:2", "stray", "--", "--name", "y"})
	want := map[string]string{"name": "y", "data-dir": "/d", "client-cert-auth": "true", "quota-backend-bytes": "-1", "initial-cluster": "a=http://b:1,c=http://d:2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestScriptIsSearchedForTheCallThatMatters(t *testing.T) {
	script := "etcdctl endpoint health; mkdir -p /var/lib/etcd && \\\n  exec etcd \\\n  --name \"$POD\" \\\n  --listen-client-urls='https://0.0.0.0:2379' || exit 1\necho etcd ended"
	got, found := scriptArguments(script)
	want := map[string]string{"name": "$POD", "listen-client-urls": "https://0.0.0.0:2379"}
	if diff := cmp.Diff(want, parseFlags(got)); !found || diff != "" {
		t.Error(found, diff)
	}
	if _, found := scriptArguments("etcdctl member list"); found {
		t.Error("etcdctl is taken for etcd")
	}
}

func TestVariablesAreExpandedAsTheKubeletDoes(t *testing.T) {
	env := map[string]string{"A": "1", "B": "x$(A)"}
	for text, want := range map[string]string{
		"": "", "$": "$", "a$": "a$", "$(A)": "1", "-$(A)-$(B)": "-1-x$(A)", "$(NONE)": "$(NONE)", "$$(A)": "$(A)", "$(A": "$(A", "${A}": "${A}", "$$$(A)": "$1",
	} {
		if got := expand(text, env); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	got := environment(&corev1.Container{Env: []corev1.EnvVar{
		{Name: "PORT", Value: "2379"}, {Name: "IP", ValueFrom: &corev1.EnvVarSource{}}, {Name: "URL", Value: "http://$(IP):$(PORT)"}, {Name: "EARLY", Value: "$(LATE)"}, {Name: "LATE", Value: "x"},
	}})
	if diff := cmp.Diff(map[string]string{"PORT": "2379", "URL": "http://$(IP):2379", "EARLY": "$(LATE)", "LATE": "x"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFlagWinsOverItsVariable(t *testing.T) {
	p := newProcess(&corev1.Container{Command: []string{"etcd", "--data-dir=/a"}, Env: []corev1.EnvVar{{Name: "ETCD_DATA_DIR", Value: "/b"}, {Name: "ETCD_WAL_DIR", Value: "/c"}}})
	if v, from := p.setting("data-dir"); v != "/a" || from != "argument --data-dir" {
		t.Errorf("%s from %s", v, from)
	}
	if v, from := p.setting("wal-dir"); v != "/c" || from != "environment ETCD_WAL_DIR" {
		t.Errorf("%s from %s", v, from)
	}
}
