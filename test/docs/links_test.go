// Package docs holds the documents to what they speak about: links, commands,
// events, reasons and alerts.
package docs

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcdroll/etcdroll/test/docs/blocks"
)

const root = "../.."

func documents(t *testing.T) map[string]blocks.Document {
	t.Helper()
	all, err := blocks.All(root)
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]blocks.Document{}
	for _, d := range all {
		byPath[d.Path] = d
	}
	if len(byPath["README.md"].Links) == 0 || len(byPath) < 20 {
		t.Fatalf("only %d documents were found", len(byPath))
	}
	return byPath
}

// Every link within the checkout leads to a file, and every anchor to a heading.
// Links to other sites are not followed.
func TestLinksResolve(t *testing.T) {
	all := documents(t)
	checked := 0
	for _, d := range all {
		for _, link := range d.Links {
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(link, "#")
			target := d.Path
			if file != "" {
				target = path.Join(path.Dir(d.Path), file)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s, which does not exist", d.Path, link)
				continue
			}
			if anchor != "" && !all[target].Anchors[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", d.Path, link, target)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links were checked", checked)
	}
}

// The index names every document.
func TestTheIndexIsComplete(t *testing.T) {
	all := documents(t)
	named := map[string]bool{}
	for _, link := range all["docs/README.md"].Links {
		file, _, _ := strings.Cut(link, "#")
		named[path.Join("docs", file)] = true
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && name != "docs/README.md" && !named[name] {
			t.Errorf("docs/README.md does not name %s", name)
		}
	}
}
