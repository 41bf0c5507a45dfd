// Package monitoring holds config/monitoring to the code: every metric that a
// rule or a panel reads exists, every alert has a runbook and fires when it
// should and only then.
package monitoring

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/pkg/trigger"
)

const folder = "../../config/monitoring/"

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

// read takes the rules out of the PrometheusRule, once as they are and once as
// a rule file of Prometheus.
func read(t *testing.T) (rules []rule, file []byte) {
	t.Helper()
	text, err := os.ReadFile(folder + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(text, &struct {
		APIVersion, Kind string
		Metadata         map[string]any
		Spec             any
	}{}); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	var groups ruleFile
	if err := json.Unmarshal(object.Spec, &groups); err != nil {
		t.Fatal(err)
	}
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	if len(rules) == 0 {
		t.Fatal("no rules were found")
	}
	return rules, object.Spec // JSON is YAML
}

// names are the metrics that a trigger with one set exports.
func names(t *testing.T) map[string]bool {
	t.Helper()
	m := trigger.NewMetrics()
	blocked := trigger.Record{Set: &trigger.SetView{Namespace: "db", Name: "etcd", Phase: "Blocked", BlockedBy: "CaughtUp"}}
	m.ShowSets(func() []trigger.Record { return []trigger.Record{blocked} }, clock.RealClock{})
	m.Sent("dev.etcdroll.rollout.diverged.v1", trigger.Retry, time.Second)
	m.DeadLetter("dev.etcdroll.rollout.continue.v1")
	m.Replied("dev.etcdroll.rollout.continue.v1")
	m.Current("pods", time.Now())
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	all := map[string]bool{}
	for line := range strings.Lines(w.Body.String()) {
		if kind, is := strings.CutPrefix(line, "# TYPE "); is {
			name, _, _ := strings.Cut(kind, " ")
			all[name] = true
		}
	}
	return all
}

var metric = regexp.MustCompile(`etcdroll_[a-z_]+`)

func TestEveryMetricThatIsReadExists(t *testing.T) {
	exported := names(t)
	rules, _ := read(t)
	dashboard, err := os.ReadFile(folder + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(dashboard) {
		t.Fatal("dashboard.json is not JSON")
	}
	texts := []string{string(dashboard)}
	for _, r := range rules {
		texts = append(texts, r.Expr)
	}
	read := map[string]bool{}
	for _, text := range texts {
		for _, name := range metric.FindAllString(text, -1) {
			name = strings.TrimSuffix(name, "_bucket")
			read[name] = true
			if !exported[name] {
				t.Errorf("%s is read, and exported by nobody", name)
			}
		}
	}
	for name := range exported {
		if strings.HasPrefix(name, "etcdroll_") && !read[name] {
			t.Errorf("%s is exported and neither shown nor watched", name)
		}
	}
}

func TestEveryAlertHasARunbookAndEveryRunbookAnAlert(t *testing.T) {
	rules, _ := read(t)
	text, err := os.ReadFile("../../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		sections[heading[1]] = true
	}
	for _, r := range rules {
		if !sections[r.Alert] {
			t.Errorf("%s has no section in docs/runbooks.md", r.Alert)
		}
		delete(sections, r.Alert)
		if want := "docs/runbooks.md#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], want) {
			t.Errorf("%s leads to %q, want %s", r.Alert, r.Annotations["runbook_url"], want)
		}
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s has severity %q", r.Alert, s)
		}
	}
	for left := range sections {
		t.Errorf("docs/runbooks.md has a section %s and there is no such alert", left)
	}
}

// Needs promtool; `make test-alerts` finds one.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	promtool := os.Getenv("PROMTOOL")
	if promtool == "" {
		t.Skip("PROMTOOL is not set; run make test-alerts")
	}
	rules, file := read(t)
	cases, err := os.ReadFile("alerts.test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if !strings.Contains(string(cases), "alertname: "+r.Alert+"\n") {
			t.Errorf("%s is never seen to fire", r.Alert)
		}
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"alerts.rules.yaml": file, "alerts.test.yaml": cases} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{{"check", "rules", "alerts.rules.yaml"}, {"test", "rules", "alerts.test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, arguments...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", arguments, err, out)
		}
	}
}
