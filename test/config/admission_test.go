package config

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

// The three messages of the fence.
const (
	opensIt   = "only etcdroll may lower partition below replicas on a managed set"
	changesIt = "the template of a managed set may change only while it is locked (partition >= replicas); try again in a moment"
	notOurs   = "etcdroll changes neither template nor replicas"
)

// What is asked for, as merge patches.
const (
	template  = `"template":{"metadata":{"annotations":{"changed":"true"}}}`
	newImage  = `{"spec":{` + template + `}}`
	scaleUp   = `{"spec":{"replicas":5}}`
	labelOff  = `{"metadata":{"labels":{"` + events.LabelManaged + `":null}},"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`
	annotate  = `{"metadata":{"annotations":{"some":"thing"}}}`
	toDelete  = `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`
	toRolling = `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}}}}`
	lockedTo  = `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":3}}}}`
	noField   = `{"spec":{"updateStrategy":{"rollingUpdate":null}}}`
)

func partitionTo(p string) string {
	return `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":` + p + `}}}}`
}

func templateWith(p string) string {
	return `{"spec":{` + template + `,"updateStrategy":{"rollingUpdate":{"partition":` + p + `}}}}`
}

// clause is one request: who asks what of which set, and with which message it
// is refused; "" is allowed.
type clause struct {
	name       string
	ours       bool
	set, patch string
	refused    string
}

// The sets have three replicas; "locked" has partition 3, "open" has 2.
var clauses = []clause{
	{"others open a locked set", false, "locked", partitionTo("2"), opensIt},
	{"others open it wide", false, "locked", partitionTo("0"), opensIt},
	{"others open it by dropping the field", false, "locked", noField, opensIt},
	{"others open an open set further", false, "open", partitionTo("1"), opensIt},
	{"others leave partition where it is", false, "open", partitionTo("2"), ""},
	{"others lock", false, "open", partitionTo("3"), ""},
	{"others lock above replicas", false, "open", partitionTo("9"), ""},
	{"others lower it to replicas", false, "high", partitionTo("3"), ""},
	{"others lower it below replicas from above", false, "high", partitionTo("2"), opensIt},
	{"others annotate an open set", false, "open", annotate, ""},
	{"others scale a locked set", false, "locked", scaleUp, ""},
	{"we release a pod", true, "locked", partitionTo("2"), ""},
	{"we lock", true, "open", partitionTo("3"), ""},
	{"we annotate", true, "open", annotate, ""},

	{"the template of a locked set", false, "locked", newImage, ""},
	{"the template of a set locked high", false, "high", newImage, ""},
	{"the template of an open set", false, "open", newImage, changesIt},
	{"the template, locking an open set", false, "open", templateWith("3"), ""},
	{"the template, opening a locked set", false, "locked", templateWith("2"), opensIt},

	{"our change of the template", true, "locked", newImage, notOurs},
	{"our change of the template of an open set", true, "open", newImage, changesIt},
	{"our change of replicas", true, "locked", scaleUp, notOurs},

	{"a set without the label is opened", false, "foreign", partitionTo("0"), ""},
	{"the template of an open set without the label", false, "foreign-open", newImage, ""},
	{"the label is taken off and the set opened", false, "locked", labelOff, ""},

	{"the template under OnDelete", false, "on-delete", newImage, ""},
	{"our change of the template under OnDelete", true, "on-delete", newImage, notOurs},
	{"from RollingUpdate to OnDelete", false, "open", toDelete, ""},
	{"from OnDelete to an open RollingUpdate", false, "on-delete", toRolling, opensIt},
	{"from OnDelete to a locked RollingUpdate", false, "on-delete", lockedTo, ""},
	{"from OnDelete to an open RollingUpdate, by us", true, "on-delete", toRolling, ""},
}

// Every clause of the admission policy, both ways. Requests are dry runs: they
// meet admission and change nothing.
func TestTheFence(t *testing.T) {
	ns := namespace(t)
	_, err := product.Install(t.Context(), shared, built(t), ns, true)
	must(t, err)
	ours := functionClient(t, ns)
	for name, set := range fencedSets() {
		set.Name = name
		_, err := shared.Client.AppsV1().StatefulSets(ns).Create(t.Context(), set, metav1.CreateOptions{})
		must(t, err)
	}
	_, err = shared.Kubectl(t.Context(), nil, "apply", "--server-side", "-k", "config/components/admission")
	must(t, err)
	t.Cleanup(func() { // it is cluster-wide, and the other tests are not about it
		_, err := shared.Kubectl(context.WithoutCancel(t.Context()), nil, "delete", "-k", "config/components/admission")
		if err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the fence is not up", func() bool {
		return ask(t, shared.Client, ns, "locked", partitionTo("2")) != nil
	})
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			client := shared.Client
			if c.ours {
				client = ours
			}
			err := ask(t, client, ns, c.set, c.patch)
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("%v, want %s", err, c.refused)
			}
		})
	}
	mistakes(t)
}

// mistakes are expressions that the API server could not check against the type.
func mistakes(t *testing.T) {
	t.Helper()
	var warnings []string
	eventually(t, "the policy's expressions are not checked", func() bool {
		policy, err := shared.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(t.Context(), "etcdroll-fence", metav1.GetOptions{})
		must(t, err)
		if policy.Status.TypeChecking == nil {
			return false
		}
		for _, w := range policy.Status.TypeChecking.ExpressionWarnings {
			warnings = append(warnings, w.FieldRef+": "+w.Warning)
		}
		return true
	})
	for _, w := range warnings {
		t.Error(w)
	}
}

// fencedSets are the sets of the clauses. Their pods fit on no node, so that
// nothing runs.
func fencedSets() map[string]*appsv1.StatefulSet {
	sets := map[string]*appsv1.StatefulSet{
		"locked": plainSet("locked", 3, 3), "open": plainSet("open", 3, 2), "high": plainSet("high", 3, 7),
		"foreign": plainSet("foreign", 3, 3), "foreign-open": plainSet("foreign-open", 3, 2), "on-delete": plainSet("on-delete", 3, 0),
	}
	sets["on-delete"].Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	delete(sets["foreign"].Labels, events.LabelManaged)
	sets["foreign-open"].Labels[events.LabelManaged] = "false"
	for _, set := range sets {
		set.Spec.Template.Spec.NodeSelector = map[string]string{"no": "node"}
	}
	return sets
}

// functionClient speaks with the function's token.
func functionClient(t *testing.T, ns string) kubernetes.Interface {
	t.Helper()
	file, err := shared.Identity(t.Context(), ns, product.FunctionAccount)
	must(t, err)
	config, err := clientcmd.BuildConfigFromFlags("", file)
	must(t, err)
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

func ask(t *testing.T, client kubernetes.Interface, ns, set, patch string) error {
	t.Helper()
	if !json.Valid([]byte(patch)) {
		t.Fatalf("no JSON: %s", patch)
	}
	_, err := client.AppsV1().StatefulSets(ns).Patch(t.Context(), set, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
