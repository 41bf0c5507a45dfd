package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/screen"
	"github.com/etcdroll/etcdroll/pkg/kubectl/testcluster"
)

// planned is the plan and how the command ended.
func planned(t *testing.T, c *testcluster.Cluster) (Plan, error) {
	t.Helper()
	command := Command(c.Access(t))
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs([]string{"etcd", "-o", "json"})
	failure := command.ExecuteContext(t.Context())
	var p Plan
	if err := json.Unmarshal(c.Out.Bytes(), &p); err != nil {
		t.Fatalf("%v: %v: %s", err, failure, c.Out.String())
	}
	for _, a := range c.Client.Actions() {
		if a.GetVerb() != "get" && a.GetVerb() != "list" {
			t.Errorf("plan does %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
	return p, failure
}

func outdated(set *appsv1.StatefulSet) {
	testcluster.Outdated(set)
	set.Annotations[events.AnnotationConfig] = "roll"
}

func config(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "roll"}, Data: map[string]string{"config.yaml": text}}
}

func world(change func(*appsv1.StatefulSet), text string) *testcluster.Cluster {
	return testcluster.New(append(testcluster.Objects(testcluster.Set(change), testcluster.Old), config(text))...)
}

func TestTheNextStepAndAllThatIsToCome(t *testing.T) {
	p, err := planned(t, world(outdated, "cooldownSeconds: 10\n"))
	if err != nil {
		t.Error(err)
	}
	if p.Next.Step != "move" || p.Next.Call != "ask member a2 to hand leadership to a0" || p.For != "etcd-2" {
		t.Errorf("next %+v for %s", p.Next, p.For)
	}
	if p.Moves == nil || *p.Moves != 2 || strings.Join(p.ToGo, " ") != "etcd-2 etcd-1 etcd-0" {
		t.Errorf("moves %v, to go %v", p.Moves, p.ToGo)
	}
	if len(p.Gates) != len(guard.Gates()) {
		t.Errorf("%d gates of %d", len(p.Gates), len(guard.Gates()))
	}
	for _, width := range []int{80, 200} {
		lines := p.lines(screen.Style{Width: width}, false)
		for _, l := range lines {
			if n := len([]rune(l)); n > width {
				t.Errorf("line of %d at %d columns: %q", n, width, l)
			}
		}
		testcluster.Golden(t, fmt.Sprintf("move-%d", width), strings.Join(lines, "\n")+"\n")
	}
}

func TestAClosedGateIsShownAndEndsWithTwo(t *testing.T) {
	c := world(outdated, "")
	c.Members[0] = guard.Member{Detail: "Status: no connection to 10.0.0.1:2379: connection refused"}
	p, err := planned(t, c)
	if access.ExitCode(err) != access.ExitStop {
		t.Errorf("%v", err)
	}
	closed := map[string]bool{}
	for _, g := range p.Gates {
		closed[g.Name] = g.Verdict == "closed"
	}
	if !closed["MembersReachable"] || !closed["QuorumAfter"] || closed["Soaked"] {
		t.Errorf("closed: %v", closed)
	}
}

func TestAWrongConfigurationIsNamed(t *testing.T) {
	p, err := planned(t, world(outdated, "cooldown: 10\n"))
	if access.ExitCode(err) != access.ExitStop || p.Next.Reason != "ConfigInvalid" || !strings.Contains(p.Next.Message, `unknown key "cooldown"`) {
		t.Errorf("%v: %+v", err, p.Next)
	}
}

// A set with nothing to do says so, and also that its next roll would not begin.
func TestAWrongConfigurationIsNamedWhereNothingIsDue(t *testing.T) {
	c := world(func(set *appsv1.StatefulSet) {
		testcluster.Converged(set)
		set.Annotations[events.AnnotationConfig] = "roll"
	}, "cooldown: 10\n")
	p, err := planned(t, c)
	if access.ExitCode(err) != access.ExitStop || !strings.Contains(err.Error(), "ConfigInvalid") || p.Next.Reason != "Converged" {
		t.Errorf("%v: %+v", err, p.Next)
	}
	if p.Problem == nil || !strings.Contains(p.Problem.Message, `unknown key "cooldown"`) || len(p.Gates) != 0 {
		t.Errorf("%+v, gates %v", p.Problem, p.Gates)
	}
	text := strings.Join(p.lines(screen.Style{}, false), "\n")
	for _, want := range []string{"but    ConfigInvalid: ", "gates: not measured"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
}

// A member that is silent does not hide what is to come.
func TestMovesToComeWhileAMemberStarts(t *testing.T) {
	objects := testcluster.Objects(testcluster.Set(outdated), testcluster.Old)
	objects[3] = testcluster.Pod(2, testcluster.Next, nil)
	c := testcluster.New(append(objects, config(""))...)
	for i := range c.Members {
		c.Members[i].Leader = c.Members[0].ID
	}
	c.Members[2] = guard.Member{Detail: "Status: no connection"}
	if p, _ := planned(t, c); p.Moves == nil || *p.Moves != 1 {
		t.Errorf("moves %v, want 1", p.Moves)
	}
}

// Every leader and every partly rolled state: what is foretold is what design
// promises, one move unless the highest index leads, none if its pod is new.
func TestMovesToCome(t *testing.T) {
	for _, c := range []struct{ leader, rolled, want int }{
		{0, 0, 1}, {1, 0, 1}, {2, 0, 2}, {2, 1, 0}, {1, 1, 1}, {0, 1, 1}, {0, 2, 1}, {1, 2, 0}, {0, 3, 0},
	} {
		objects := testcluster.Objects(testcluster.Set(outdated), testcluster.Old)
		for i := range c.rolled {
			objects[3-i] = testcluster.Pod(2-i, testcluster.Next, nil)
		}
		cluster := testcluster.New(append(objects, config(""))...)
		for i := range cluster.Members {
			cluster.Members[i].Leader = cluster.Members[c.leader].ID
		}
		p, _ := planned(t, cluster)
		if p.Moves == nil || *p.Moves != c.want || len(p.ToGo) != 3-c.rolled {
			t.Errorf("leader %d, %d rolled: moves %v, want %d; to go %v", c.leader, c.rolled, p.Moves, c.want, p.ToGo)
		}
	}
}
