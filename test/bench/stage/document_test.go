package stage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcdroll/etcdroll/test/bench/ledger"
	"github.com/etcdroll/etcdroll/test/bench/page"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// No figure of the document is typed by hand: it is what its rows come to.
func TestTheDocumentIsThatOfItsRows(t *testing.T) {
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there, here := page.In(filepath.Join(root, "docs")), page.In(t.TempDir())
	for from, to := range map[string]string{there.Runs: here.Runs, there.Latency: here.Latency} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := page.Write(here, Described()); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{there.Page: here.Page}
	for _, grace := range Graces {
		picture := "writes-" + grace + ".svg"
		files[filepath.Join(there.Pictures, picture)] = filepath.Join(here.Pictures, picture)
	}
	for is, should := range files {
		want, _ := os.ReadFile(should)
		if got, _ := os.ReadFile(is); string(got) != string(want) {
			t.Errorf("%s is not what its rows come to; `go run ./test/bench/cmd/bench -page` writes it", is)
		}
	}
}

func TestEveryStartIsInEveryVariant(t *testing.T) {
	names := map[string]bool{}
	for _, v := range Variants {
		if names[v.Name] {
			t.Errorf("two are called %s", v.Name)
		}
		names[v.Name] = true
		if v.etcdroll && v.script != nil || v.broker && !v.etcdroll || v.onDelete && v.open {
			t.Errorf("%s contradicts itself", v.Name)
		}
	}
	p := ledger.Plan{Runs: 3, Graces: Graces, Variants: []string{"direct"}}
	starts := map[int]int{}
	for _, key := range p.Missing(nil) {
		starts[ledger.StartLeader(key.Number, 3)]++
	}
	for i := range 3 {
		if starts[i] != len(Graces) {
			t.Errorf("index %d leads at the start %d times", i, starts[i])
		}
	}
}
