package gitops

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

var localExec = regexp.MustCompile(`(?s)command\s+= <<-EOT\n(.*?)\n\s*EOT`)

// The command that the recipe runs after an apply returns when the token of that
// apply has converged.
func TestTheCommandOfTheTerraformRecipeWaits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../config/gitops/terraform/main.tf")
	must(t, err)
	found := localExec.FindSubmatch(text)
	if found == nil {
		t.Fatal("the recipe has no local-exec")
	}
	s := newStage(t, quick())
	s.tended()
	s.edit(func(set *appsv1.StatefulSet) {
		etcdset.Template(etcdset.WithEnv("GENERATION", "2"))(set)
		set.Annotations[events.AnnotationRelease] = "0123456789abcdef"
	})
	dir, err := shared.KubectlDir(s.ctx)
	must(t, err)
	shell := exec.CommandContext(s.ctx, "sh", "-c", strings.TrimSpace(string(found[1])))
	shell.Env = append(shared.KubectlEnv(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"),
		"NAMESPACE="+s.namespace, "NAME=etcd", "RELEASE=0123456789abcdef")
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	live := s.live()
	if live.Annotations[events.AnnotationConvergedRevision] != live.Status.UpdateRevision || live.Status.UpdatedReplicas != 3 {
		t.Errorf("the command returned at %+v", live.Status)
	}
	s.rolled()
}
