package gitops

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

// plugin is kubectl-etcdroll where its image looks for it.
var plugin = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	root, err := cluster.Root(ctx)
	if err != nil {
		return "", err
	}
	file := filepath.Join(shared.Dir, "bin", "kubectl-etcdroll")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", file, "./cmd/kubectl-etcdroll")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the plugin: %w\n%s", err, out)
	}
	return file, nil
})

// upgrade does what `helm upgrade` does with the hooks of the recipe once the
// rest of a chart is applied: it renders them with Helm's own engine, creates
// them by weight, and waits for the Job.
func (s *stage) upgrade(values string) *batchv1.Job {
	s.Helper()
	_, err := plugin()
	must(s.T, err)
	file := filepath.Join(s.TempDir(), "values.yaml")
	must(s.T, os.WriteFile(file, []byte(values), 0o600))
	chart, err := filepath.Abs("../../config/gitops/helm")
	must(s.T, err)
	render := exec.CommandContext(s.ctx, "go", "run", "-C", "engines", "./render", chart, "db", s.namespace, file)
	var complaints bytes.Buffer
	render.Stderr = &complaints
	text, err := render.Output()
	if err != nil {
		s.Fatalf("%v\n%s", err, complaints.String())
	}
	for _, hook := range hooks(s.T, text) {
		text, err := yaml.Marshal(hook.Object)
		must(s.T, err)
		_, err = shared.Kubectl(s.ctx, text, "-n", s.namespace, "create", "-f", "-")
		must(s.T, err)
	}
	return s.job("db-etcdroll-wait")
}

// hooks are the rendered objects in the order in which Helm creates them.
func hooks(t *testing.T, rendered []byte) (all []unstructured.Unstructured) {
	t.Helper()
	for document := range bytes.SplitSeq(rendered, []byte("\n---\n")) {
		var u unstructured.Unstructured
		must(t, yaml.Unmarshal(document, &u.Object))
		if u.GetAnnotations()["helm.sh/hook"] != "post-upgrade" {
			t.Fatalf("no hook of an upgrade: %v", u.Object)
		}
		all = append(all, u)
	}
	weight := func(u unstructured.Unstructured) int {
		n, err := strconv.Atoi(u.GetAnnotations()["helm.sh/hook-weight"])
		must(t, err)
		return n
	}
	slices.SortStableFunc(all, func(a, b unstructured.Unstructured) int { return weight(a) - weight(b) })
	return all
}

// job waits for the end of a Job, one way or the other. It asks by itself: what
// the observer sees of the set may be over before the Job is.
func (s *stage) job(name string) *batchv1.Job {
	s.Helper()
	for deadline := time.Now().Add(rollsWithin); ; time.Sleep(200 * time.Millisecond) {
		job, err := shared.Client.BatchV1().Jobs(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
		must(s.T, err)
		if job.Status.Succeeded+job.Status.Failed > 0 {
			return job
		}
		if time.Now().After(deadline) {
			s.Fatalf("the Job has not ended: %+v", job.Status)
		}
	}
}

func (s *stage) jobLog() string {
	s.Helper()
	out, err := shared.Kubectl(s.ctx, nil, "-n", s.namespace, "logs", "job/db-etcdroll-wait")
	must(s.T, err)
	return string(out)
}

func TestHelmUpgradeEndsWhenTheRollHas(t *testing.T) {
	t.Parallel()
	s := newStage(t, quick())
	s.tended()
	s.edit(etcdset.Template(etcdset.ToVersion("3.7.3")))
	job := s.upgrade("{}")
	set, log := s.live(), s.jobLog()
	t.Logf("the Job said: %s", log)
	if job.Status.Succeeded != 1 || set.Annotations[events.AnnotationConvergedRevision] != set.Status.UpdateRevision || set.Status.UpdatedReplicas != 3 {
		t.Errorf("the Job ended with %+v, and the set is at %+v", job.Status, set.Status)
	}
	if want := "converged at " + set.Status.UpdateRevision; !strings.Contains(log, want) {
		t.Errorf("the log lacks %q:\n%s", want, log)
	}
	s.rolled()
}

func TestHelmUpgradeFailsOnAHalt(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Config["readyTimeoutSeconds"] = 10
	s := newStage(t, o)
	s.tended()
	s.edit(etcdset.Template(etcdset.ToImage("registry.local/etcd:broken")))
	job, log := s.upgrade("etcdrollWait: {timeout: 2m}"), s.jobLog()
	if job.Status.Failed != 1 || !strings.Contains(log, "is halted: PodBroken") || !strings.Contains(log, "What to do:") {
		t.Errorf("the Job ended with %+v and said:\n%s", job.Status, log)
	}
}
