package config

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/config/overlay"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// The sample and the commands of the README name it.
const sampleNamespace = "etcd"

// rollsWithin is generous: the sample has the default patience of 30 s per pod.
const rollsWithin = 5 * time.Minute

// From nothing to a converged first roll with the three commands of the README,
// one after the other without a pause. Trigger and function run as the pods of
// their Deployments, with the tokens that the API server mounts for them, and
// find each other by the Service's name.
//
// One thing differs from any other cluster: all pods of the local cluster share
// the host's network, so that each part is told to listen on its pod's address
// instead of on every one. Images stand for the programs of this checkout, and
// quay.io's for etcd built from its modules.
func TestThreeCommandsInstallAndRoll(t *testing.T) {
	if !shared.Local() {
		t.Skip("the images are not there on this cluster")
	}
	built(t)
	commands := installCommands(t)
	if len(commands) != 3 {
		t.Fatalf("%d commands: %q", len(commands), commands)
	}
	if _, err := shared.Client.CoreV1().Namespaces().Get(t.Context(), sampleNamespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("namespace %s is there already: %v", sampleNamespace, err)
	}
	dir := checkoutWithPodAddresses(t)
	t.Cleanup(func() { removeSample(t) })
	began := time.Now()
	for _, command := range commands {
		run(t, dir, command)
	}
	watching, err := observer.Start(t.Context(), shared.Client, sampleNamespace, "etcd")
	must(t, err)
	t.Cleanup(watching.Stop)
	must(t, watching.Until(t.Context(), rollsWithin, "the first roll has not converged", func(v observer.View) bool {
		return v.Settled() && v.Set.Generation >= 2 && v.Set.Annotations[events.AnnotationConvergedRevision] == v.Set.Update && updated(v)
	}))
	t.Logf("converged %s after the first command", time.Since(began).Round(time.Second))
	last := watching.View()
	if !last.Set.Locked() || len(last.Pods) != 3 {
		t.Errorf("%s", last)
	}
	installedPodsAreWell(t)
}

func updated(v observer.View) bool {
	for _, pod := range v.Pods {
		if !strings.HasSuffix(pod.Image, ":v3.7.3") {
			return false
		}
	}
	return len(v.Pods) > 0
}

// installCommands are the lines of the first block of the section "Install".
func installCommands(t *testing.T) []string {
	t.Helper()
	root, err := cluster.Root(t.Context())
	must(t, err)
	_, section, found := strings.Cut(read(t, filepath.Join(root, "README.md")), "\n## Install\n")
	if !found {
		t.Fatal("README.md has no section Install")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	_, block, found := strings.Cut(section, "\n```\n")
	if !found {
		t.Fatal("the section Install has no commands")
	}
	block, _, _ = strings.Cut(block, "\n```\n")
	return strings.Split(block, "\n")
}

// The kustomization that README shows for a namespace of one's own.
func TestOwnNamespaceOfTheReadme(t *testing.T) {
	root, err := cluster.Root(t.Context())
	must(t, err)
	_, block, found := strings.Cut(read(t, filepath.Join(root, "README.md")), "\n```yaml\nnamespace: ")
	if !found {
		t.Fatal("README.md shows no kustomization")
	}
	block, _, _ = strings.Cut("namespace: "+block, "\n```\n")
	dir := t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "config"), os.DirFS(filepath.Join(root, "config"))))
	must(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(block), 0o644))
	rendered, err := shared.Kubectl(t.Context(), nil, "kustomize", dir)
	must(t, err)
	objects, err := overlay.Parse(rendered)
	must(t, err)
	var images []string
	for _, o := range objects {
		if o.GetNamespace() != "prod" {
			t.Errorf("%s %s is in namespace %q", o.GetKind(), o.GetName(), o.GetNamespace())
		}
	}
	deployments, err := overlay.All[appsv1.Deployment](objects, "Deployment")
	must(t, err)
	for _, d := range deployments {
		images = append(images, d.Spec.Template.Spec.Containers[0].Image)
	}
	slices.Sort(images)
	if want := []string{"registry.example/etcdroll/roll-fn:v0.1.0", "registry.example/etcdroll/trigger:v0.1.0"}; !slices.Equal(images, want) {
		t.Errorf("images %v, want %v", images, want)
	}
	grants, err := objects.Grants()
	must(t, err)
	if !slices.ContainsFunc(grants, func(g overlay.Grant) bool {
		return slices.Contains(g.Resources, "pods") && slices.Contains(g.Verbs, "delete")
	}) {
		t.Error("the function may not delete pods")
	}
}

// checkoutWithPodAddresses is a directory with a copy of config/ in which both
// Deployments listen on their pods' addresses.
func checkoutWithPodAddresses(t *testing.T) string {
	t.Helper()
	root, err := cluster.Root(t.Context())
	must(t, err)
	dir := t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "config"), os.DirFS(filepath.Join(root, "config"))))
	file := filepath.Join(dir, "config", "direct", "kustomization.yaml")
	var k map[string]any
	must(t, yaml.Unmarshal([]byte(read(t, file)), &k))
	if k["patches"] != nil {
		t.Fatal("config/direct has patches of its own now: add to them")
	}
	k["patches"] = []any{map[string]any{"target": map[string]any{"kind": "Deployment"}, "patch": `
- op: add
  path: /spec/template/spec/containers/0/env/-
  value: {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- op: add
  path: /spec/template/spec/containers/0/env/-
  value: {name: ETCDROLL_LISTEN, value: "$(POD_IP):8080"}
`}}
	text, err := yaml.Marshal(k)
	must(t, err)
	must(t, os.WriteFile(file, text, 0o644))
	return dir
}

// run executes a line as a shell would, with this cluster's kubectl.
func run(t *testing.T, dir, line string) {
	t.Helper()
	if !strings.HasPrefix(line, "kubectl ") {
		t.Fatalf("not a command of kubectl: %s", line)
	}
	programs, err := shared.KubectlDir(t.Context())
	must(t, err)
	shell := exec.CommandContext(t.Context(), "sh", "-ec", line)
	shell.Dir = dir
	shell.Env = append(shared.KubectlEnv(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	t.Logf("$ %s\n%s", line, out)
	if err != nil {
		t.Fatal(err)
	}
}

// installedPodsAreWell: both Deployments are available without a restart.
func installedPodsAreWell(t *testing.T) {
	t.Helper()
	for _, name := range []string{"etcdroll-trigger", "etcdroll-roll-fn"} {
		d, err := shared.Client.AppsV1().Deployments(sampleNamespace).Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		if !available(d) {
			t.Errorf("%s: %+v", name, d.Status)
		}
	}
	pods, err := shared.Client.CoreV1().Pods(sampleNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=etcdroll"})
	must(t, err)
	for _, pod := range pods.Items {
		for _, c := range pod.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				t.Errorf("%s restarted %d times: %+v", pod.Name, c.RestartCount, c.LastTerminationState)
			}
		}
	}
	if len(pods.Items) != 2 {
		t.Errorf("%d pods of etcdroll", len(pods.Items))
	}
}

func available(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == *d.Spec.Replicas
}

func removeSample(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	if err := shared.Client.CoreV1().Namespaces().Delete(ctx, sampleNamespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
