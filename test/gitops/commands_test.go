package gitops

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/docs/blocks"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// reader types what the documents say, for one set.
type reader struct {
	*stage
	root, dir  string // of the checkout, and where files are written
	kubeconfig string
	programs   string
	ran        map[string]bool
}

func newReader(s *stage) *reader {
	s.Helper()
	file, err := plugin()
	must(s.T, err)
	programs, err := shared.KubectlDir(s.ctx)
	must(s.T, err)
	root, err := cluster.Root(s.ctx)
	must(s.T, err)
	r := &reader{stage: s, root: root, dir: s.TempDir(), ran: map[string]bool{},
		programs: programs + string(os.PathListSeparator) + filepath.Dir(file)}
	// The set's namespace is the default one, as it would be for a reader who
	// has set it.
	text, err := os.ReadFile(shared.Kubeconfig)
	must(s.T, err)
	r.kubeconfig = filepath.Join(r.dir, "kubeconfig")
	must(s.T, os.WriteFile(r.kubeconfig, text, 0o600))
	r.shell("kubectl config set-context --current --namespace=" + s.namespace)
	must(s.T, os.Symlink(filepath.Join(root, "config"), filepath.Join(r.dir, "config")))
	return r
}

// shell runs lines as a shell does and gives what they print.
func (r *reader) shell(lines string) string {
	r.Helper()
	c := exec.CommandContext(r.ctx, "sh", "-ec", lines)
	c.Dir = r.dir
	c.Env = append(shared.KubectlEnv(), "KUBECONFIG="+r.kubeconfig, "HOME="+r.dir, "PATH="+r.programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if err != nil {
		r.Fatalf("$ %s\n%s\n%v", lines, out, err)
	}
	r.Logf("$ %s\n%s", lines, out)
	return string(out)
}

// types runs the blocks of a section, in the order of the document, that begin
// with the text.
func (r *reader) types(document, section, begin string) string {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(document)))
	must(r.T, err)
	for _, b := range blocks.Read(document, string(text)).Commands {
		if b.Section == section && strings.HasPrefix(b.Text, begin) && !r.ran[b.Name()] {
			r.ran[b.Name()] = true
			return r.shell(strings.ReplaceAll(b.Text, "NAME", "etcd"))
		}
	}
	r.Fatalf("%s has no block %q under %s that was not run yet", document, begin, section)
	return ""
}

func (r *reader) has(text string, wants ...string) {
	r.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			r.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

// A reader goes from a set that nobody guards, by way of the migration guide,
// through everything else that is documented, and back to a set that nobody
// guards. Every block that the registry says is run is run here.
func TestCommandsOfTheDocuments(t *testing.T) {
	t.Parallel()
	r := newReader(newStage(t, etcdset.Options{Native: true}))
	r.parts() // beside a set that is not theirs yet
	r.migrates()
	r.looks()
	r.waits()
	r.holds()
	r.argo()
	r.goesBack()
	for name, proof := range blocks.Registry {
		if proof.Run && !r.ran[name] {
			t.Errorf("was not run: %s", name)
		}
	}
}

func (r *reader) migrates() {
	const guide, steps = "docs/migration.md", "Step by step"
	r.types(guide, steps, "cat > config.yaml")
	r.has(r.types(guide, steps, "kubectl etcdroll adopt NAME --config-file=config.yaml --dry-run=server"), "nothing was changed")
	if set := r.live(); set.Labels[events.LabelManaged] != "" {
		r.Errorf("a dry run set the label")
	}
	r.has(r.types(guide, steps, "kubectl etcdroll adopt NAME --config-file=config.yaml\n"), "result: adopted", "converged at")
	r.mark = r.observer.Mark()
	r.has(r.types(guide, steps, "kubectl patch statefulset NAME"), "converged at", "unplanned elections: 0")
	if got := r.rolled(); got.Deletions[0] != 1 || got.Deletions[1] != 1 || got.Deletions[2] != 1 {
		r.Errorf("deletions by index %v", got.Deletions)
	}
}

func (r *reader) looks() {
	r.has(r.types("docs/operations.md", "See what is going on", ""), "etcd", "Converged", "last roll")
	r.has(r.types("docs/runbooks.md", "Runbooks", "kubectl get statefulset NAME"), "Converged")
	r.has(r.types(".github/ISSUE_TEMPLATE/problem.md", "", ""), "Converged", "etcd-2")
	r.has(r.types("docs/pulumi.md", "What a timeout means", "kubectl etcdroll status"), "Converged", "etcd-2")
	// docs/kubectl.md shows both with their output.
	r.has(r.shell("kubectl etcdroll explain unsched || test $? -ne 0"), "did you mean Unschedulable?")
	r.has(r.shell("kubectl etcdroll explain Soaked"), "Soaked (gate)", "It is soft")
}

func (r *reader) waits() {
	r.shell("kubectl label statefulset etcd etcdroll.dev/managed-")
	r.types("README.md", "Use it on your own set", "kubectl label")
	r.types("docs/gitops.md", "kubectl", "kubectl annotate")
	r.types("docs/gitops.md", "kubectl", "kubectl etcdroll wait")
	r.types("README.md", "Wait for it", "kubectl annotate")
	if got := r.live().Annotations[events.AnnotationConverged]; got != "v42" {
		r.Errorf("the token that converged is %q", got)
	}
}

// holds pauses idle sets, and one that is rolling.
func (r *reader) holds() {
	r.types("docs/operations.md", "Hold everything", "kubectl annotate")
	if set := r.live(); set.Annotations[events.AnnotationPaused] != "" {
		r.Error("the pause was not taken back")
	}
	must(r.T, r.set.Edit(r.ctx, etcdset.WithEnv("GENERATION", "3")))
	r.changed()
	r.mark = r.observer.Mark()
	r.has(r.types("docs/operations.md", "Upgrade etcdroll", "kubectl etcdroll pause"), "is paused", "condition met", "no longer paused")
	r.rolled()
}

func (r *reader) argo() {
	ctx, client := r.ctx, shared.Client.CoreV1()
	_, err := client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}}, metav1.CreateOptions{})
	must(r.T, err)
	r.Cleanup(func() { _ = client.Namespaces().Delete(ctx, "argocd", metav1.DeleteOptions{}) })
	_, err = client.ConfigMaps("argocd").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm"}}, metav1.CreateOptions{})
	must(r.T, err)
	r.types("docs/gitops.md", "Argo CD", "kubectl -n argocd patch")
	m, err := client.ConfigMaps("argocd").Get(ctx, "argocd-cm", metav1.GetOptions{})
	must(r.T, err)
	r.has(m.Data["resource.customizations.health.apps_StatefulSet"], "etcdroll.dev/managed")
}

// goesBack ends with a set that is the StatefulSet controller's again, without a
// restart.
func (r *reader) goesBack() {
	r.mark = r.observer.Mark()
	r.has(r.types("docs/migration.md", "Going back", "kubectl etcdroll pause"), "condition met", "unlabeled")
	const guide, section = "docs/operations.md", "Take a set out, uninstall"
	again := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, events.LabelManaged) // the way back is open
	_, err := shared.Client.AppsV1().StatefulSets(r.namespace).Patch(r.ctx, r.set.Name, types.MergePatchType, again, metav1.PatchOptions{})
	must(r.T, err)
	r.has(r.types(guide, section, "kubectl etcdroll pause"), "condition met", "unlabeled")
	r.types(guide, section, "kubectl patch statefulset NAME")
	r.types(guide, section, "kubectl delete -k config/direct")
	r.until(formsWithin, "the set is not as it was", func(v observer.View) bool { return v.Set.Partition == 0 && v.AllUp() })
	set := r.live()
	for key := range set.Annotations {
		if strings.HasPrefix(key, events.Prefix) {
			r.Errorf("annotation %s is left", key)
		}
	}
	report, err := r.observer.Report(r.mark)
	must(r.T, err)
	if len(report.Deletions) != 0 || set.Labels[events.LabelManaged] != "" {
		r.Errorf("deletions %v, labels %v", report.Deletions, set.Labels)
	}
}
