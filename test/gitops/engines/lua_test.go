package engines

import (
	"fmt"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kubectl/pkg/polymorphichelpers"
)

func script(t *testing.T) string {
	t.Helper()
	var m struct {
		Data map[string]string `json:"data"`
	}
	load(t, recipes+"argocd/argocd-cm.yaml", &m)
	text := m.Data["resource.customizations.health.apps_StatefulSet"]
	if text == "" {
		t.Fatal("argocd-cm.yaml has no health check")
	}
	return text
}

// argo runs the check with what Argo CD gives to one by default: the base and
// table libraries, and neither strings nor mathematics.
func argo(t *testing.T, set *unstructured.Unstructured) (code, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	l.SetGlobal("obj", value(l, set.Object))
	if err := l.DoString(script(t)); err != nil {
		t.Fatalf("Argo CD shows Unknown on an error: %v", err)
	}
	answer, isTable := l.Get(-1).(*lua.LTable)
	if !isTable {
		t.Fatalf("Argo CD wants a table, not %s", l.Get(-1).Type())
	}
	return l.GetField(answer, "status").String(), l.GetField(answer, "message").String()
}

func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, value(l, item))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(value(l, item))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case nil:
		return lua.LNil
	}
	panic(fmt.Sprintf("%T in an object of the API", v))
}

func TestArgoTellsTheRecordedStatesApart(t *testing.T) {
	want := map[string][2]string{
		"unmarked": {"Progressing", "Pending"}, "converged": {"Healthy", "converged at etcd-"}, "converged-again": {"Healthy", "converged at etcd-"},
		"paused": {"Suspended", "Paused: "}, "blocked": {"Progressing", "GatesClosed: VersionPath"}, "rolling": {"Progressing", ""},
		"halted": {"Degraded", "PodBroken: "}, "unmanaged-idle": {"Healthy", "partitioned roll out complete"}, "unmanaged-rolling": {"Progressing", "Waiting for 1 pods"},
	}
	for name, set := range recorded(t) {
		code, message := argo(t, set)
		t.Logf("%s: %s, %s", name, code, message)
		if w, known := want[name]; !known || code != w[0] || !strings.HasPrefix(message, w[1]) {
			t.Errorf("%s: %s %q, want %s %q", name, code, message, w[0], w[1])
		}
		delete(want, name)
	}
	if len(want) != 0 {
		t.Errorf("never recorded: %v", want)
	}
}

func TestArgoOnWhatWasNotRecorded(t *testing.T) {
	for _, v := range variants(t) {
		if code, message := argo(t, v.set); code != v.argo {
			t.Errorf("%s: %s %q, want %s", v.name, code, message, v.argo)
		}
	}
}

// Argo CD's own check goes by the rules of `kubectl rollout status`, which is at
// hand as a library: healthy is what it calls done. It has no opinion of OnDelete,
// which Argo CD calls healthy once the pods are ready.
func TestArgoJudgesOthersAsByItself(t *testing.T) {
	sets := others(t)
	for name, set := range recorded(t) {
		if set.GetLabels()["etcdroll.dev/managed"] == "" {
			sets[name] = set
		}
	}
	for name, set := range sets {
		code, message := argo(t, set)
		strategy, _, _ := unstructured.NestedString(set.Object, "spec", "updateStrategy", "type")
		if strategy == "OnDelete" {
			ready, _, _ := unstructured.NestedInt64(set.Object, "status", "readyReplicas")
			if (code == "Healthy") != (ready == 3) {
				t.Errorf("%s: %s %q", name, code, message)
			}
			continue
		}
		why, done, err := (&polymorphichelpers.StatefulSetStatusViewer{}).Status(set, 0)
		if err != nil {
			t.Fatal(err)
		}
		if (code == "Healthy") != done {
			t.Errorf("%s: %s %q, kubectl %t %q", name, code, message, done, why)
		}
	}
}

// Why a check of one's own is needed: by these rules a locked set is done before
// anything has been rolled.
func TestALockedSetLooksDoneTooEarly(t *testing.T) {
	for _, name := range []string{"paused", "blocked"} {
		why, done, err := (&polymorphichelpers.StatefulSetStatusViewer{}).Status(recorded(t)[name], 0)
		if err != nil || !done {
			t.Errorf("%s: %t %q %v", name, done, why, err)
		}
	}
}
