package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

const soon = 60 * time.Second

func eventually(t *testing.T, otherwise string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(otherwise)
		}
	}
}

// missing is how the programs name a right.
func missing(r right) string {
	return fmt.Sprintf("missing right: verb %q on resource %q", r.verb, r.resource)
}

// triggerEnds: a trigger that cannot watch or hold its Lease exits at once, and
// its last line is the missing right.
func triggerEnds(t *testing.T, p *product.Place, r right) {
	kubeconfig, err := shared.Identity(t.Context(), p.Namespace, product.TriggerAccount)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	trigger := exec.CommandContext(ctx, p.Programs.Trigger, "--kubeconfig="+kubeconfig, "--namespaces="+p.Namespace,
		"--lease-namespace="+p.Namespace, "--sink=http://127.0.0.1:9", "--listen=127.0.0.1:0")
	out, err := trigger.CombinedOutput()
	var exit *exec.ExitError
	if ctx.Err() != nil || !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v after %v:\n%s", err, ctx.Err(), out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "trigger: ") || !strings.Contains(last, missing(r)) || !strings.Contains(last, p.Namespace) {
		t.Errorf("last line: %s", last)
	}
	t.Log(last)
}

// functionAnswers: a function that cannot look or write says so to whoever asks,
// and that it may be asked again.
func functionAnswers(t *testing.T, p *product.Place, r right) {
	a, log := visit(t, p)
	if a.Status != 503 || !strings.Contains(a.Text, missing(r)) || !strings.Contains(a.Text, p.Namespace) {
		t.Errorf("answered %d %s", a.Status, a.Text)
	}
	if !strings.Contains(log, quoted(missing(r))) {
		t.Errorf("log:\n%s", log)
	}
	t.Log(a.Text)
}

// functionLogs: without this right the roll goes on, and the log says what was
// not done.
func functionLogs(t *testing.T, p *product.Place, r right) {
	a, log := visit(t, p)
	if a.Status >= 300 || !strings.Contains(log, quoted(missing(r))) {
		t.Errorf("answered %d %s; log:\n%s", a.Status, a.Text, log)
	}
	if annotations(t, p)[events.AnnotationPhase] == "" {
		t.Error("the set was not marked")
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, quoted(missing(r))) {
			t.Log(line)
		}
	}
}

// setIsBlocked: what the set's owner has configured cannot be read. The set
// itself says so.
func setIsBlocked(reason, words string) func(*testing.T, *product.Place, right) {
	return func(t *testing.T, p *product.Place, _ right) {
		a, _ := visit(t, p)
		notes := annotations(t, p)
		message := notes[events.AnnotationMessage]
		if a.Status >= 300 || notes[events.AnnotationPhase] != events.PhaseBlocked || notes[events.AnnotationReason] != reason || !strings.Contains(message, words) {
			t.Errorf("answered %d; %v", a.Status, notes)
		}
		t.Log(message)
	}
}

// With all rights nothing is said of any, and the set gets its mark and its
// Event: what the cases above miss is due to the right that is missing.
func TestWithAllRightsNoneIsMissed(t *testing.T) {
	ns := namespace(t)
	p, err := product.Install(t.Context(), shared, built(t), ns, true, secretName, "etcd-auth")
	must(t, err)
	a, log := visit(t, p)
	if a.Status >= 300 || strings.Contains(log, "missing right") || strings.Contains(log, "no right") {
		t.Errorf("answered %d %s; log:\n%s", a.Status, a.Text, log)
	}
	notes := annotations(t, p)
	if notes[events.AnnotationPhase] != events.PhaseBlocked || strings.Contains(notes[events.AnnotationMessage], "right") {
		t.Errorf("%v", notes)
	}
	list, err := shared.Client.EventsV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=Blocked"})
	must(t, err)
	if len(list.Items) != 1 {
		t.Errorf("%d Events", len(list.Items))
	}
}

// rollWaitsForADelete: without the right to delete pods a set under OnDelete is
// blocked with the command that moves it on. Members are real here: the question
// comes up only when all gates are open.
func rollWaitsForADelete(t *testing.T, p *product.Place, _ right) {
	config := etcdset.Quick()
	config["allowDowntime"] = true
	set, err := etcdset.Create(t.Context(), shared.Client, etcdset.Options{Namespace: p.Namespace, Replicas: 1, Config: config,
		Shape: func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		}})
	must(t, err)
	function := started(t)(p.Function())
	started(t)(p.Trigger(function.URL, "--leader-elect=false"))
	eventually(t, "the set is not marked", func() bool { return annotations(t, p)[events.AnnotationPhase] == events.PhaseConverged })
	must(t, set.Apply(t.Context(), etcdset.Template(etcdset.WithEnv("ROLL", "1"))))
	want := "we may not delete pods; run: kubectl -n " + p.Namespace + " delete pod etcd-0"
	var notes map[string]string
	for end := time.Now().Add(2 * soon); ; time.Sleep(100 * time.Millisecond) {
		notes = annotations(t, p)
		if notes[events.AnnotationReason] == "DeleteNeeded" && strings.Contains(notes[events.AnnotationMessage], want) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("want %s: %v", want, notes)
		}
	}
	t.Log(notes[events.AnnotationMessage])
}

// started sees to it that the part ends with the test.
func started(t *testing.T) func(*product.Part, error) *product.Part {
	return func(p *product.Part, err error) *product.Part {
		t.Helper()
		must(t, err)
		t.Cleanup(p.Stop)
		return p
	}
}

// quoted is the text as it looks inside a line of JSON.
func quoted(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }

func annotations(t *testing.T, p *product.Place) map[string]string {
	t.Helper()
	set, err := shared.Client.AppsV1().StatefulSets(p.Namespace).Get(t.Context(), "etcd", metav1.GetOptions{})
	must(t, err)
	return set.Annotations
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return string(text)
}
