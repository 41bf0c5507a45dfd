package gitops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/child"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

const monitoring = "../../config/monitoring/"

// A real Prometheus scrapes a real trigger while a set is blocked in mid-life:
// every query of the dashboard then has an answer, and every alert rule can be
// evaluated.
func TestPrometheusAnswersEveryQueryOfTheDashboard(t *testing.T) {
	t.Parallel()
	program := prometheusProgram(t)
	s := newStage(t, quick())
	trigger := s.tended()
	p := s.prometheus(program, trigger)
	s.edit(etcdset.Template(etcdset.WithEnv("GENERATION", "2")))
	s.rolled() // replies have come back, a leader was moved
	s.edit(etcdset.Template(etcdset.ToVersion("3.5.35")))
	s.phased(events.PhaseBlocked)
	deadLetter(t, trigger)
	for _, query := range queries(t) {
		query = strings.NewReplacer("$namespace", s.namespace, "$name", "etcd", "$__rate_interval", "1m").Replace(query)
		p.eventually(t, query, func() bool { return p.series(t, query) > 0 })
	}
	p.eventually(t, "every rule is evaluated, and a set that is blocked is pending", func() bool { return p.rules(t)["EtcdrollRollBlocked"] == "pending" })
	for name, state := range p.rules(t) {
		if want := map[bool]string{true: "pending", false: "inactive"}[name == "EtcdrollRollBlocked"]; state != want && name != "EtcdrollDeadLetter" {
			t.Errorf("%s is %s, want %s", name, state, want)
		}
	}
}

// prometheusProgram is the one on the PATH, or Debian's that test/monitoring
// fetches along with promtool.
func prometheusProgram(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../monitoring/promtool.sh").Output()
	if err != nil {
		t.Skipf("no Prometheus to be had: %v", err)
	}
	file := filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "prometheus")
	if _, err := os.Stat(file); err != nil {
		t.Skip(err)
	}
	return file
}

// queries are those of the dashboard.
func queries(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(monitoring + "dashboard.json")
	must(t, err)
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	must(t, json.Unmarshal(text, &d))
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	if len(all) < 20 {
		t.Fatalf("the dashboard has %d queries", len(all))
	}
	return all
}

// deadLetter is one as a broker would hand it over.
func deadLetter(t *testing.T, trigger *product.Part) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, trigger.URL+"/dead-letters", strings.NewReader(`{"seq":1}`))
	must(t, err)
	for key, value := range map[string]string{"Content-Type": "application/json", "Ce-Specversion": "1.0", "Ce-Id": "1", "Ce-Source": "/test",
		"Ce-Type": events.TypeContinue, "Ce-Subject": "a/b"} {
		r.Header.Set(key, value)
	}
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	_ = answer.Body.Close()
	if answer.StatusCode >= 300 {
		t.Fatalf("the trigger answers %s to a dead letter", answer.Status)
	}
}

// prometheus is a running one, by its address.
type prometheus string

func (s *stage) prometheus(program string, trigger *product.Part) prometheus {
	s.Helper()
	dir, address := s.TempDir(), freeAddress(s.T)
	var rules struct{ Spec json.RawMessage }
	text, err := os.ReadFile(monitoring + "alerts.yaml")
	must(s.T, err)
	must(s.T, yaml.Unmarshal(text, &rules))
	must(s.T, os.WriteFile(filepath.Join(dir, "rules.yaml"), rules.Spec, 0o600)) // JSON is YAML
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yaml]\nscrape_configs:\n- job_name: trigger\n  static_configs: [{targets: [%q]}]\n",
		strings.TrimPrefix(trigger.URL, "http://"))
	must(s.T, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600))
	process, err := child.Start(child.Command{Name: "prometheus", Path: program, Dir: dir, Farewell: syscall.SIGTERM, Log: filepath.Join(dir, "log"),
		Args: []string{"--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=" + address}})
	must(s.T, err)
	s.Cleanup(func() { process.Stop(10 * time.Second) })
	return prometheus("http://" + address)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func (p prometheus) get(t *testing.T, path string, into any) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, string(p)+path, nil)
	must(t, err)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", answer.Status, body.String())
	}
	return json.Unmarshal(body.Bytes(), into)
}

// series is how many series the query gives; an error is none.
func (p prometheus) series(t *testing.T, query string) int {
	t.Helper()
	var answer struct {
		Data struct{ Result []json.RawMessage }
	}
	if err := p.get(t, "/api/v1/query?query="+url.QueryEscape(query), &answer); err != nil {
		t.Logf("%s: %v", query, err)
	}
	return len(answer.Data.Result)
}

// rules are the states of those that were evaluated without an error.
func (p prometheus) rules(t *testing.T) map[string]string {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, State string }
			}
		}
	}
	states := map[string]string{}
	if err := p.get(t, "/api/v1/rules", &answer); err != nil {
		t.Logf("rules: %v", err)
	}
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			if rule.Health != "ok" {
				rule.State = "unhealthy: " + rule.Health
			}
			states[rule.Name] = rule.State
		}
	}
	return states
}

func (p prometheus) eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("not within 30 s: %s", what)
			return
		}
	}
}
