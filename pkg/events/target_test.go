package events

import (
	"strings"
	"testing"
)

func TestSubjectMustNameExactlyOneSet(t *testing.T) {
	good := map[string]Target{
		"default/etcd":                 {"default", "etcd"},
		"a/b":                          {"a", "b"},
		"prod-1/etcd-2-10":             {"prod-1", "etcd-2-10"},
		strings.Repeat("n", 63) + "/x": {strings.Repeat("n", 63), "x"},
	}
	for subject, want := range good {
		got, err := ParseSubject(subject)
		if err != nil || got != want || got.Subject() != subject {
			t.Errorf("ParseSubject(%q) = %v, %v; want %v", subject, got, err, want)
		}
	}
	bad := []string{
		"", "etcd", "/", "default/", "/etcd", "default/etcd/status", "Default/etcd", "default/Etcd", "default/et_cd",
		"default/-etcd", "default/etcd-", "default/..", "../etcd", "default/etcd\n", " default/etcd", "default/etcd ",
		"default/etcd?x=1", "default/ét", strings.Repeat("n", 64) + "/x", "default/" + strings.Repeat("n", 64),
		"default/etcd.example", "default/%2e%2e",
	}
	for _, subject := range bad {
		if got, err := ParseSubject(subject); err == nil {
			t.Errorf("ParseSubject(%q) = %v, want an error", subject, got)
		}
	}
}

func TestSubjectErrorSaysWhatIsWrong(t *testing.T) {
	for subject, want := range map[string]string{
		"etcd":        "namespace/name",
		"/etcd":       "namespace is empty",
		"default/E":   "name \"E\" is not a DNS-1123 label",
		"default/a/b": "name \"a/b\" is not",
	} {
		_, err := ParseSubject(subject)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSubject(%q): %v, want %q in it", subject, err, want)
		}
	}
}
