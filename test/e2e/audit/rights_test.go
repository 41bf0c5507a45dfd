package audit

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
)

func entry(verb, group, resource, name string) Entry {
	e := Entry{Verb: verb}
	e.Object.APIGroup, e.Object.Resource, e.Object.Name = group, resource, name
	return e
}

func TestWithin(t *testing.T) {
	sets := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"get", "patch"}}
	secret := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"a"}, Verbs: []string{"get"}}
	urls := rbacv1.PolicyRule{NonResourceURLs: []string{"/version", "/api/*"}, Verbs: []string{"get"}}
	status := entry("patch", "apps", "statefulsets", "etcd")
	status.Object.Subresource = "status"
	for name, c := range map[string]struct {
		e    Entry
		rule rbacv1.PolicyRule
		want bool
	}{
		"all fits":         {entry("get", "apps", "statefulsets", "etcd"), sets, true},
		"another verb":     {entry("list", "apps", "statefulsets", ""), sets, false},
		"another group":    {entry("get", "", "statefulsets", "etcd"), sets, false},
		"another resource": {entry("get", "apps", "deployments", "etcd"), sets, false},
		"a subresource":    {status, sets, false},
		"the name":         {entry("get", "", "secrets", "a"), secret, true},
		"another name":     {entry("get", "", "secrets", "b"), secret, false},
		"no name":          {entry("get", "", "secrets", ""), secret, false},
		"a URL":            {Entry{Verb: "get", URI: "/version?timeout=5s"}, urls, true},
		"a URL below":      {Entry{Verb: "get", URI: "/api/v1"}, urls, true},
		"another URL":      {Entry{Verb: "get", URI: "/metrics"}, urls, false},
		"a URL, resources": {Entry{Verb: "get", URI: "/version"}, sets, false},
	} {
		if got := c.e.Within(c.rule); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A watch that goes on is in the log once, without an end; one that has ended is
// there twice.
func TestAskedHasWatchesOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	text := `{"auditID":"1","stage":"ResponseStarted","verb":"watch","user":{"username":"u"},"objectRef":{"resource":"pods"}}
{"auditID":"2","stage":"ResponseStarted","verb":"watch","user":{"username":"u"},"objectRef":{"resource":"sets"}}
{"auditID":"1","stage":"ResponseComplete","verb":"watch","user":{"username":"u"},"objectRef":{"resource":"pods"}}
{"auditID":"3","stage":"ResponseComplete","verb":"get","user":{"username":"v"},"objectRef":{"resource":"u"}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Asked(file, "u")
	if err != nil || len(all) != 2 || all[0].Object.Resource != "pods" || all[1].Object.Resource != "sets" {
		t.Errorf("%+v, %v", all, err)
	}
	finished, err := Between(file, time.Time{}, time.Now(), "u")
	if err != nil || len(finished) != 1 || finished[0].ID != "1" {
		t.Errorf("%+v, %v", finished, err)
	}
}
