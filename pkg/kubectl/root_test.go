package kubectl

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/etcdroll/etcdroll/pkg/kubectl/testcluster"
)

func main(t *testing.T, args ...string) (code int, out, complaints string) {
	t.Helper()
	t.Setenv("KUBECONFIG", "/nowhere/kubeconfig")
	t.Setenv("HOME", t.TempDir())
	var o, e bytes.Buffer
	code = Main(args, "v1 abc", genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &o, ErrOut: &e})
	return code, o.String(), e.String()
}

// Whatever is wrong is told in one line that names the field.
func TestErrorsAreOneLineWithTheFieldAndTheRemedy(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"statsu"}, 1, `unknown command "statsu"`},
		{[]string{"status", "--otput=json"}, 1, "unknown flag: --otput: see kubectl etcdroll status --help"},
		{[]string{"status", "-o", "xml"}, 1, "use one of wide, json, yaml"},
		{[]string{"plan"}, 1, "wants the name of one StatefulSet"},
		{[]string{"plan", "etcd", "--via=vpn"}, 1, `--via "vpn" is none of auto, direct, port-forward`},
		{[]string{"wait"}, 3, "wants the name of one StatefulSet"},
		{[]string{"wait", "etcd", "--timeout=soon"}, 3, "--timeout"},
		{[]string{"adopt", "etcd", "--dry-run=maybe"}, 1, "use none, client or server"},
		{[]string{"status", "--server=http://127.0.0.1:1"}, 1, "check --kubeconfig, --context and --server"},
		{[]string{"wait", "etcd", "--server=http://127.0.0.1:1"}, 3, "cannot be reached"},
		{[]string{"explain", "Blokced"}, 1, "is no reason and no gate"},
	} {
		code, _, complaints := main(t, c.args...)
		if code != c.code || !strings.HasPrefix(complaints, "error: ") || strings.Count(complaints, "\n") != 1 || !strings.Contains(complaints, c.says) {
			t.Errorf("%v: exit code %d, want %d, and %q: %s", c.args, code, c.code, c.says, complaints)
		}
	}
}

func TestEveryCommandDocumentsItsExitCodes(t *testing.T) {
	root := Command(testcluster.New().Access(t), "v1")
	names := []string{}
	for _, c := range root.Commands() {
		names = append(names, c.Name())
		if !strings.Contains(c.Long, "Exit codes:") || c.Example == "" || c.Short == "" {
			t.Errorf("%s does not tell its exit codes, or has no example", c.Name())
		}
	}
	if got, want := strings.Join(names, " "), "adopt explain history pause plan resume status wait"; got != want {
		t.Errorf("commands %s, want %s", got, want)
	}
}

func TestNamesOfSetsAreCompleted(t *testing.T) {
	c := testcluster.New(testcluster.Set(nil))
	root := Command(c.Access(t), "v1")
	root.SetArgs([]string{"__complete", "status", "e"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Out.String(), "etcd\n") {
		t.Errorf("%s", c.Out.String())
	}
}

// What only the plugin needs stays out of the programs that run in clusters.
func TestTheFunctionAndTheTriggerKnowNothingOfThePlugin(t *testing.T) {
	for _, program := range []string{"roll-fn", "trigger"} {
		out, err := exec.Command("go", "list", "-deps", "../../cmd/"+program).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Fields(string(out)) {
			for _, foreign := range []string{"k8s.io/cli-runtime", "github.com/spf13/cobra", "k8s.io/client-go/tools/portforward", "etcdroll/pkg/kubectl"} {
				if strings.Contains(line, foreign) {
					t.Errorf("%s imports %s", program, line)
				}
			}
		}
	}
}
