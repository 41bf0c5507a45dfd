package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/knative/eventing"
)

// The sample and the commands of the documentation name it.
const sampleNamespace = "etcd"

// sampleRollsWithin is generous: the sample has the default patience of 30 s per pod.
const sampleRollsWithin = 5 * time.Minute

// From nothing to a converged first roll with the three commands of
// docs/knative.md, as they are and one after the other without a pause, on a
// cluster with Knative Serving and Eventing. Every event goes through the broker,
// to a function that Knative starts.
func TestThreeCommandsInstallAndRollThroughTheBroker(t *testing.T) {
	withServing(t)
	broker, err := eventing.Start(t.Context(), shared, network, room())
	must(t, err)
	t.Cleanup(broker.Stop)
	commands := documented(t)
	if len(commands) != 3 {
		t.Fatalf("%d commands: %q", len(commands), commands)
	}
	if _, err := shared.Client.CoreV1().Namespaces().Get(t.Context(), sampleNamespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("namespace %s is there already: %v", sampleNamespace, err)
	}
	t.Cleanup(func() { removeSample(t) })
	network.Route("-kn-channel."+sampleNamespace+".svc.cluster.local", eventing.DispatcherURL)
	began := time.Now()
	for _, command := range commands {
		runLine(t, command)
	}
	deadLetters := routeToService(t, "etcdroll-dead-letters")
	line := watchFunction(t, sampleNamespace, t.Context().Done())
	watching, err := observer.Start(t.Context(), shared.Client, sampleNamespace, "etcd")
	must(t, err)
	t.Cleanup(watching.Stop)
	if err := watching.Until(t.Context(), sampleRollsWithin, "the first roll has not converged", func(v observer.View) bool {
		return v.Settled() && v.Set.Generation >= 2 && v.Set.Annotations[events.AnnotationConvergedRevision] == v.Set.Update && updated(v)
	}); err != nil {
		t.Fatalf("%v\n%s\n%s", err, broker.Logs(), state(t))
	}
	t.Logf("converged %s after the first command; %s", time.Since(began).Round(time.Second), line.since(began))
	if last := watching.View(); !last.Set.Locked() || len(last.Pods) != 3 {
		t.Errorf("%s", last)
	}
	broughtByTheBroker(t, began)
	if letters := network.Hops(deadLetters, began); len(letters) > 0 {
		t.Errorf("dead letters: %+v", letters)
	}
	installedPartsAreWell(t)
}

// routeToService does for one Service what cluster DNS does for all, and gives its
// name.
func routeToService(t *testing.T, name string) string {
	t.Helper()
	service, err := shared.Client.CoreV1().Services(sampleNamespace).Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	host := name + "." + sampleNamespace + ".svc.cluster.local"
	network.Route(host, "http://"+service.Spec.ClusterIP)
	return host
}

func updated(v observer.View) bool {
	for _, pod := range v.Pods {
		if !strings.HasSuffix(pod.Image, ":v3.7.3") {
			return false
		}
	}
	return len(v.Pods) > 0
}

// broughtByTheBroker: the trigger's events went to the broker, and what came back
// from the function is what brought the next request.
func broughtByTheBroker(t *testing.T, since time.Time) {
	t.Helper()
	posted, asked, continued := 0, 0, 0
	for _, h := range network.Hops(eventing.IngressHost, since) {
		if h.Type == events.TypeDiverged && h.Status == 202 {
			posted++
		}
	}
	for _, h := range network.Hops("etcdroll-roll-fn."+sampleNamespace+".svc.cluster.local", since) {
		asked++
		if h.Type == events.TypeContinue {
			continued++
		}
	}
	t.Logf("%d events of the trigger posted to the broker; the function asked %d times, %d of them continuations by the broker", posted, asked, continued)
	if posted == 0 || continued < 3 {
		t.Errorf("%d events of the trigger, %d continuations: not everything went through the broker", posted, continued)
	}
}

// documented are the lines of the first block of the section that installs.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "knative.md"))
	must(t, err)
	_, section, found := strings.Cut(string(text), "\n## Install the broker topology\n")
	if !found {
		t.Fatal("docs/knative.md does not say how to install the broker topology")
	}
	_, block, _ := strings.Cut(section, "\n```\n")
	block, _, found = strings.Cut(block, "\n```\n")
	if !found {
		t.Fatal("the section has no commands")
	}
	return strings.Split(block, "\n")
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := cluster.Root(t.Context())
	must(t, err)
	return dir
}

// runLine executes a line as a shell would, with this cluster's kubectl, in this
// checkout.
func runLine(t *testing.T, line string) {
	t.Helper()
	if !strings.HasPrefix(line, "kubectl ") {
		t.Fatalf("not a command of kubectl: %s", line)
	}
	programs, err := shared.KubectlDir(t.Context())
	must(t, err)
	shell := exec.CommandContext(t.Context(), "sh", "-ec", line)
	shell.Dir = root(t)
	shell.Env = append(shared.KubectlEnv(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	t.Logf("$ %s\n%s", line, out)
	if err != nil {
		t.Fatal(err)
	}
}

// installedPartsAreWell: Broker, Triggers and function are Ready, the trigger is
// available, and nothing was restarted.
func installedPartsAreWell(t *testing.T) {
	t.Helper()
	_, err := shared.Kubectl(t.Context(), nil, "-n", sampleNamespace, "wait", "--for=condition=Ready", "--timeout=10s", "broker/etcdroll",
		"trigger/etcdroll-diverged", "trigger/etcdroll-continue", "trigger/etcdroll-resume", "services.serving.knative.dev/etcdroll-roll-fn")
	must(t, err)
	d, err := shared.Client.AppsV1().Deployments(sampleNamespace).Get(t.Context(), "etcdroll-trigger", metav1.GetOptions{})
	must(t, err)
	if d.Status.ObservedGeneration != d.Generation || d.Status.AvailableReplicas != *d.Spec.Replicas {
		t.Errorf("%+v", d.Status)
	}
	pods, err := shared.Client.CoreV1().Pods(sampleNamespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, pod := range pods.Items {
		for _, c := range pod.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				t.Errorf("%s of %s restarted %d times: %+v", c.Name, pod.Name, c.RestartCount, c.LastTerminationState)
			}
		}
		if pod.Status.Phase != corev1.PodRunning {
			t.Errorf("%s is %s", pod.Name, pod.Status.Phase)
		}
	}
}

// state is everything of the namespace, for messages of failed tests.
func state(t *testing.T) string {
	t.Helper()
	out, _ := shared.Kubectl(context.WithoutCancel(t.Context()), nil, "-n", sampleNamespace, "get",
		"statefulset,pod,deployment,broker,trigger,services.serving.knative.dev,revision,podautoscaler", "-o", "wide")
	return string(out)
}

func removeSample(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	if err := shared.Client.CoreV1().Namespaces().Delete(ctx, sampleNamespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
