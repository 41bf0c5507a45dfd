package guard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The core is pure: its packages import each other and this list, and nothing
// in it reads a clock. fmt brings in os, so direct imports are what is judged.
var allowed = []string{"cmp", "encoding/json", "errors", "fmt", "maps", "math", "slices", "sort", "strconv", "strings", "time"}

const module = "github.com/etcdroll/etcdroll/"

func TestTheCoreImportsOnlyPureThings(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{if .Module}}{{.ImportPath}} {{join .Imports " "}}{{end}}`, module+"pkg/fn/roll").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 2 {
		t.Errorf("the core is made of two packages and no other module:\n%s", out)
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		for _, imported := range fields[1:] {
			if imported != module+"pkg/guard" && !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s", fields[0], imported)
			}
		}
	}
}

func TestTheCoreReadsNoClock(t *testing.T) {
	for _, dir := range []string{".", "../fn/roll"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("find the sources in %s: %v, %d files", dir, err, len(files))
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if x, isIdent := selX(sel, ok); isIdent && x == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "Sleep", "Tick", "NewTimer"}, sel.Sel.Name) {
					t.Errorf("%s calls time.%s", dir, sel.Sel.Name)
				}
				return true
			})
		}
	}
}

func selX(sel *ast.SelectorExpr, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}
