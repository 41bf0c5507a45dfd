// Package kind checks what can be checked of the kind clusters without Docker.
package kind

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/defaults"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

func read(t *testing.T, file string) v1alpha4.Cluster {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	var c v1alpha4.Cluster
	if err := decoder.Decode(&c); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return c
}

// The script knows the node by its name and reaches pods in its network, so
// there is one cluster name and one node; images are pinned by digest.
func TestClustersAreWhatTheScriptExpects(t *testing.T) {
	pinned := regexp.MustCompile(`^kindest/node:v1\.\d+\.\d+@sha256:[0-9a-f]{64}$`)
	for _, file := range []string{"newest.yaml", "oldest.yaml"} {
		c := read(t, file)
		if c.Kind != "Cluster" || c.APIVersion != "kind.x-k8s.io/v1alpha4" || c.Name != "etcdroll" {
			t.Errorf("%s: %s %s called %q", file, c.APIVersion, c.Kind, c.Name)
		}
		if len(c.Nodes) != 1 || c.Nodes[0].Role != v1alpha4.ControlPlaneRole || !pinned.MatchString(c.Nodes[0].Image) {
			t.Errorf("%s: nodes %+v", file, c.Nodes)
		}
	}
}

func TestNewestIsWhatThePinnedKindWasMadeFor(t *testing.T) {
	if got := read(t, "newest.yaml").Nodes[0].Image; got != defaults.Image {
		t.Errorf("newest.yaml has %s, kind's own is %s", got, defaults.Image)
	}
}

func TestScriptIsSoundAndExplainsItself(t *testing.T) {
	if out, err := exec.Command("bash", "-n", "kind.sh").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if path, err := exec.LookPath("shellcheck"); err == nil {
		if out, err := exec.Command(path, "kind.sh").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	// With no Docker it says so; with one, it shows how it is called.
	out, err := exec.Command("bash", "kind.sh").CombinedOutput()
	if exit, is := err.(*exec.ExitError); !is || exit.ExitCode() != 2 || !regexp.MustCompile(`make demo|kind\.sh up`).Match(out) {
		t.Errorf("%v: %s", err, out)
	}
}
