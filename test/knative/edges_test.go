package knative

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/knative/eventing"
	"github.com/etcdroll/etcdroll/test/knative/mesh"
)

// post sends what it is given to the broker and gives the status and the time
// that the answer took.
func (w *world) post(t *testing.T, body string, header map[string]string) (int, time.Duration) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://"+eventing.IngressHost+"/"+w.namespace+"/etcdroll", strings.NewReader(body))
	must(t, err)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	proxy, err := url.Parse(w.mesh.URL)
	must(t, err)
	began := time.Now()
	answer, err := (&http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}, Timeout: time.Minute}).Do(r)
	must(t, err)
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode, time.Since(began)
}

func ours(eventType, id, subject string) map[string]string {
	header := map[string]string{"Content-Type": "application/json", "Ce-Specversion": "1.0", "Ce-Type": eventType, "Ce-Id": id, "Ce-Source": "/test"}
	if subject != "" {
		header["Ce-Subject"] = subject
	}
	return header
}

// What is no event is refused at the door. What is an event of our type and
// makes no sense is refused by the function, not tried again, and ends in the
// dead letter sink. Nothing is written either way.
func TestMalformedEventsBecomeDeadLetters(t *testing.T) {
	w := aWorld(t)
	w.since = time.Now()
	before := w.observer.Set().Version
	if status, _ := w.post(t, "garbage", map[string]string{"Content-Type": "text/plain"}); status != http.StatusBadRequest {
		t.Errorf("the broker answers garbage with %d, want 400", status)
	}
	for id, bad := range map[string]struct {
		body   string
		header map[string]string
		status int
	}{
		"no-subject":   {"{}", ours(events.TypeDiverged, "no-subject", ""), http.StatusBadRequest},
		"no-halt":      {"[]", ours(events.TypeResume, "no-halt", w.namespace+"/etcd"), http.StatusBadRequest},
		"foreign-seq":  {"{}", with(ours(events.TypeContinue, "foreign-seq", w.namespace+"/etcd"), "Ce-Sequence", "-1"), http.StatusBadRequest},
		"not-our-home": {"{}", ours(events.TypeDiverged, "not-our-home", "kube-system/etcd"), http.StatusForbidden},
	} {
		if status, took := w.post(t, bad.body, bad.header); status != http.StatusAccepted || took > time.Second {
			t.Errorf("%s: the broker answers %d after %s", id, status, took)
		}
		letter := w.deadLetter(t, id)
		tries := slices.DeleteFunc(w.asked(), func(h mesh.Hop) bool { return h.ID != id })
		if len(tries) != 1 || tries[0].Status != bad.status {
			t.Errorf("%s: tried %d times (%+v), want once and %d", id, len(tries), tries, bad.status)
		}
		if letter.Status != http.StatusAccepted {
			t.Errorf("%s: the dead letter was answered %d", id, letter.Status)
		}
	}
	if after := w.observer.Set().Version; after != before {
		t.Errorf("the set was written: resourceVersion %d, then %d", before, after)
	}
	log, err := os.ReadFile(w.trigger.Log())
	must(t, err)
	if !strings.Contains(string(log), `"msg":"an event was not delivered"`) || !strings.Contains(string(log), `"code":"403"`) {
		t.Error("the trigger's log does not tell of the dead letters")
	}
}

func with(header map[string]string, name, value string) map[string]string {
	header[name] = value
	return header
}

// deadLetter waits for the event in the dead letter sink.
func (w *world) deadLetter(t *testing.T, id string) mesh.Hop {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, h := range w.mesh.Hops(w.deadLetterHost(), w.since) {
			if h.ID == id && h.Status != 0 {
				return h
			}
		}
	}
	t.Fatalf("%s did not become a dead letter; the function was asked %+v", id, w.asked())
	return mesh.Hop{}
}

// A pod does not start, the roll halts, the cause goes away. The halt stays until
// somebody resumes it: with the command of the documentation, through the broker.
func TestAHaltIsResumedThroughTheBroker(t *testing.T) {
	w := aWorld(t)
	must(t, w.set.LeadWith(w.ctx, 0))
	w.start(t, etcdset.ToImage(lateImage))
	must(t, w.observer.Until(w.ctx, rollsWithin, "the roll is not halted", func(v observer.View) bool {
		return v.Set.Annotations[events.AnnotationPhase] == events.PhaseHalted && v.Set.Annotations[events.AnnotationHaltedRevision] == v.Set.Update
	}))
	if !w.observer.Set().Locked() {
		t.Error("halted while open")
	}
	w.bringProgram(t)
	must(t, w.observer.Until(w.ctx, formsWithin, "the pod does not start now that it can", observer.View.AllUp))
	if got := w.observer.Set().Annotations[events.AnnotationPhase]; got != events.PhaseHalted {
		t.Errorf("the halt went away by itself; the phase is %s", got)
	}
	w.shell(t, documented(t, "curl "))
	must(t, w.observer.Until(w.ctx, rollsWithin, "the roll does not go on", observer.View.Settled))
	r, err := w.observer.Report(w.mark)
	must(t, err)
	if r.Unplanned != 0 || len(r.Led) != 0 || r.MembersDown > 1 {
		t.Errorf("%d unplanned elections, led %v, %d members down", r.Unplanned, r.Led, r.MembersDown)
	}
	for i := range r.Final.Set.Replicas {
		if r.Deletions[i] != 1 {
			t.Errorf("pod %d was deleted %d times, want once", i, r.Deletions[i])
		}
	}
	if n := len(ofType(w.asked(), events.TypeResume)); n != 1 {
		t.Errorf("the function was asked %d times to resume, want once", n)
	}
}

// bringProgram makes lateImage an image that runs.
func (w *world) bringProgram(t *testing.T) {
	t.Helper()
	program, err := eventing.Program(w.ctx, "etcd-v3.7.3")
	must(t, err)
	late := filepath.Join(shared.Dir, lateProgram)
	must(t, os.MkdirAll(filepath.Dir(late), 0o755))
	must(t, os.Symlink(program, late))
}

// documented is the block of docs/knative.md that contains the words.
func documented(t *testing.T, words string) string {
	t.Helper()
	root, err := cluster.Root(t.Context())
	must(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "knative.md"))
	must(t, err)
	blocks := strings.Split(string(text), "```")
	for i := 1; i < len(blocks); i += 2 {
		if code, ok := strings.CutPrefix(blocks[i], "sh\n"); ok && strings.Contains(code, words) {
			return code
		}
	}
	t.Fatalf("docs/knative.md has no block with %q", words)
	return ""
}

// shell runs a documented command, for this namespace.
func (w *world) shell(t *testing.T, code string) {
	t.Helper()
	dir, err := shared.KubectlDir(w.ctx)
	must(t, err)
	cmd := exec.CommandContext(w.ctx, "bash", "-euo", "pipefail", "-c", code)
	cmd.Env = append(shared.KubectlEnv(), "NS="+w.namespace, "SET=etcd", "http_proxy="+w.mesh.URL, "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%v\n%s", err, code)
	}
}
