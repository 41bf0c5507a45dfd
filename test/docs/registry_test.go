package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcdroll/etcdroll/test/docs/blocks"
)

// Every block of commands has its proof, and every proof its block.
func TestEveryBlockOfCommandsIsRunOrSaysWhyNot(t *testing.T) {
	left := map[string]bool{}
	for name := range blocks.Registry {
		left[name] = true
	}
	for _, d := range documents(t) {
		if !spoken(d.Path) {
			continue
		}
		for _, b := range d.Commands {
			proof, known := blocks.Registry[b.Name()]
			if !known {
				t.Errorf("not in blocks.Registry: %s\n%s", b.Name(), b.Text)
				continue
			}
			if flaw := check(b, proof); flaw != "" {
				t.Errorf("%s: %s", b.Name(), flaw)
			}
			delete(left, b.Name())
		}
	}
	for name := range left {
		t.Errorf("in blocks.Registry and in no document: %s", name)
	}
}

// spoken are the documents for people who use the product. What is below test is
// for those who work on it.
func spoken(path string) bool {
	return !strings.HasPrefix(path, "test/") && path != "CONTRIBUTING.md" && path != "CHANGELOG.md" && !strings.HasPrefix(path, "pulumi/")
}

func check(b blocks.Block, p blocks.Proof) string {
	switch {
	case p.Run:
		if p.Test != "" || p.Not != "" {
			return "more than one proof"
		}
		return ""
	case p.Test == "" && p.Not == "", p.Test != "" && p.Not != "":
		return "needs a test, or why there is none"
	case p.Not != "":
		return ""
	}
	file, name, _ := strings.Cut(p.Test, ": ")
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return err.Error()
	}
	if !strings.Contains(string(source), "func "+name+"(t *testing.T)") {
		return p.Test + " does not exist"
	}
	shows := p.Shows
	if len(shows) == 0 {
		shows = strings.Split(b.Text, "\n")
	}
	for _, line := range shows {
		if !strings.Contains(string(source), line) {
			return p.Test + " does not have " + line
		}
	}
	return ""
}

// The check must be able to fail.
func TestAProofThatProvesNothingIsRefused(t *testing.T) {
	b := blocks.Block{Text: "kubectl get pods --of=nobody"}
	for name, p := range map[string]blocks.Proof{
		"nothing": {}, "two": {Run: true, Not: "x"}, "both": {Test: "a: b", Not: "x"},
		"no file":            {Test: "test/docs/none_test.go: TestX"},
		"no test":            {Test: "test/docs/registry_test.go: TestNone"},
		"another command":    {Test: "test/docs/links_test.go: TestLinksResolve"},
		"not what it showed": {Test: "test/docs/links_test.go: TestLinksResolve", Shows: []string{"kubectl get " + "pods"}},
	} {
		if check(b, p) == "" {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A block that is said to be run here is run: test/gitops counts what it ran.
func TestTheRunnerCountsItsBlocks(t *testing.T) {
	source := text(t, "test/gitops/commands_test.go")
	for _, want := range []string{"blocks.Registry", "was not run"} {
		if !strings.Contains(source, want) {
			t.Errorf("test/gitops/commands_test.go lacks %q", want)
		}
	}
}
