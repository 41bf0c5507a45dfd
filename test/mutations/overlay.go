package mutations

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Edit is a piece of text taken out of one file of the product.
type Edit struct {
	File    string // of the module, with slashes
	Find    string // occurs once in the file
	Replace string // compiles, and has the rule no more
}

// Of is the edit that takes away the rule with this sentence in All; zero, which
// no overlay can be made of, if there is none.
func Of(rule string) Edit {
	for _, m := range All {
		if m.Rule == rule {
			return m.edit()
		}
	}
	return Edit{}
}

func (m Mutation) edit() Edit { return Edit{m.File, m.Find, m.Replace} }

// Overlay writes the altered files into dir and gives the file that the Go
// command takes as -overlay. root is the module's directory. Edits of one file
// are made one after the other.
func Overlay(root, dir string, edits ...Edit) (string, error) {
	replaced := map[string]string{} // path in the module to path of the altered file
	for n, e := range edits {
		path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(e.File)))
		if err != nil {
			return "", err
		}
		from := path
		if before, again := replaced[path]; again {
			from = before
		}
		altered := filepath.Join(dir, fmt.Sprintf("altered%d.go", n))
		if err := e.make(from, altered); err != nil {
			return "", err
		}
		replaced[path] = altered
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, overlay, 0o600)
}

// make reads the one file and writes the other.
func (e Edit) make(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), e.Find); n != 1 {
		return fmt.Errorf("%s has the text of the rule %d times, wants once:\n%s", e.File, n, e.Find)
	}
	return os.WriteFile(to, []byte(strings.Replace(string(text), e.Find, e.Replace, 1)), 0o600)
}
