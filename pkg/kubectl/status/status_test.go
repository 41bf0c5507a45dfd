package status

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/kubectl/look"
	"github.com/etcdroll/etcdroll/pkg/kubectl/testcluster"
)

func run(t *testing.T, c *testcluster.Cluster, args ...string) error {
	t.Helper()
	command := Command(c.Access(t))
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(args)
	return command.ExecuteContext(t.Context())
}

func TestOneSetWithItsMembers(t *testing.T) {
	c := testcluster.New(testcluster.Objects(testcluster.Set(testcluster.Outdated), testcluster.Old)...)
	if err := run(t, c, "etcd", "-o", "json"); err != nil {
		t.Fatal(err)
	}
	var s look.Set
	if err := json.Unmarshal(c.Out.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Members) != 3 || s.Members[2].Role != "leader" || s.Members[0].Revision != "old" || s.Members[0].Lag == nil || s.MovesToCome == nil || *s.MovesToCome != 2 {
		t.Errorf("%+v", s)
	}
}

func TestWithoutTheRightToReadSecretsTheRestIsShown(t *testing.T) {
	set := testcluster.Set(func(s *appsv1.StatefulSet) {
		testcluster.Converged(s)
		s.Annotations[events.AnnotationConfig] = "roll"
	})
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "roll"}, Data: map[string]string{"config.yaml": "auth: {secretName: root}\n"}}
	c := testcluster.New(append(testcluster.Objects(set, testcluster.Old), m)...)
	if err := run(t, c, "etcd"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"etcd-2  current   yes    ?", "note: read with your own rights, CredentialsInvalid: Secret root"} {
		if !strings.Contains(c.Out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, c.Out.String())
		}
	}
}

func TestAnUnknownSetIsAnErrorWithARemedy(t *testing.T) {
	for _, args := range [][]string{{"other"}, {"other", "-w"}} {
		if err := run(t, testcluster.New(), args...); err == nil || !strings.Contains(err.Error(), "check the name, --namespace and --context") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := run(t, testcluster.New(), "etcd", "-A"); err == nil || !strings.Contains(err.Error(), "exclude") {
		t.Errorf("%v", err)
	}
}

// A member that has another pod by now is not shown with the words of the one
// before.
func TestWordsOfAPodThatIsGoneAreNotShown(t *testing.T) {
	c := testcluster.New(testcluster.Objects(testcluster.Set(nil), testcluster.Old)...)
	cluster, err := c.Access(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	v := &view{cluster: cluster, set: testcluster.Set(nil)}
	if err := v.readPods(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.take(ask(t.Context(), cluster, "etcd", nil))
	if got := v.look().Members[2].Role; got != "leader" {
		t.Fatalf("role %q", got)
	}
	v.pods[2] = testcluster.Pod(2, testcluster.Old, func(p *corev1.Pod) { p.UID = "another" })
	if got := v.look().Members[2].Role; got == "leader" {
		t.Error("the new pod has the role of the old one")
	}
}

// lines is an output that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) until(t *testing.T, within time.Duration, want string) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(2 * time.Millisecond) {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q was not shown within %s:\n%s", want, within, text)
		}
	}
}

// A change is shown within a second, with one watch.
func TestWatchShowsAChangeWithinASecond(t *testing.T) {
	c := testcluster.New(testcluster.Objects(testcluster.Set(testcluster.Converged), testcluster.Old)...)
	a, out := c.Access(t), &lines{}
	a.Streams.Out = out
	command := Command(a)
	command.SetArgs([]string{"etcd", "-w"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	out.until(t, 5*time.Second, "db/etcd Converged 3/3")
	out.until(t, 5*time.Second, "etcd-2: revision current, ready yes, leader")

	if err := c.Client.Tracker().Update(podsResource, testcluster.Pod(2, testcluster.Next, func(p *corev1.Pod) {
		p.UID = "new"
		p.Status.Conditions[0].Status = corev1.ConditionFalse
	}), "db"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client.AppsV1().StatefulSets("db").Update(ctx, testcluster.Set(testcluster.Outdated), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	out.until(t, time.Second, "etcd-2: revision new, ready no")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	watches := 0
	for _, action := range c.Client.Actions() {
		if action.GetVerb() == "watch" {
			watches++
		}
	}
	if watches != 1 {
		t.Errorf("%d watches", watches)
	}
}

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

func TestAFleetIsAsManyLines(t *testing.T) {
	other := testcluster.Set(testcluster.Halted)
	other.Name, other.UID = "etcd-b", "b"
	wild := testcluster.Set(func(s *appsv1.StatefulSet) { s.Name, s.UID, s.Labels = "wild", "c", nil })
	c := testcluster.New(testcluster.Set(testcluster.Converged), other, wild)
	if err := run(t, c, "-A"); err != nil {
		t.Fatal(err)
	}
	out := c.Out.String()
	if strings.Count(out, "\n") != 3 || !strings.Contains(out, "PodBroken") || strings.Contains(out, "wild") {
		t.Errorf("%s", out)
	}
}
