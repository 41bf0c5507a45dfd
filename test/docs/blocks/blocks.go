// Package blocks reads the documents: their headings, links and blocks of
// commands, and says which test runs each block.
package blocks

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Document is one Markdown file. Path is relative to the checkout, with slashes.
type Document struct {
	Path     string
	Anchors  map[string]bool
	Links    []string
	Commands []Block
}

// Block is a fenced block of a document that a reader may type, which is every
// one that is not marked as something else (yaml, json).
type Block struct {
	Document string
	Section  string // the heading above it
	Text     string // without the fences
}

// Name tells a block from others: its document, section and first line.
func (b Block) Name() string {
	first, _, _ := strings.Cut(b.Text, "\n")
	return fmt.Sprintf("%s | %s | %s", b.Document, b.Section, first)
}

// skipped are folders without documents of ours.
var skipped = []string{".git", "node_modules", "dist", "bin", ".local"}

// All reads every Markdown file below root.
func All(root string) (all []Document, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(skipped, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".md") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		all = append(all, Read(filepath.ToSlash(name), string(text)))
		return err
	})
	return all, err
}

var (
	heading = regexp.MustCompile(`^#{1,6} +(.+?) *$`)
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	code    = regexp.MustCompile("`[^`]*`")
	fence   = regexp.MustCompile("^(```+)\\s*(\\w*)")
)

// Read takes a document apart.
func Read(path, text string) Document {
	d := Document{Path: path, Anchors: map[string]bool{}}
	section, language, inside, open := "", "", "", []string(nil)
	for _, line := range strings.Split(text, "\n") {
		f := fence.FindStringSubmatch(strings.TrimLeft(line, " "))
		switch {
		case inside == "" && f != nil:
			inside, language, open = f[1], f[2], nil
		case inside != "" && f != nil && f[1] == inside && f[2] == "":
			if commands(language) {
				d.Commands = append(d.Commands, Block{Document: path, Section: section, Text: strings.Join(open, "\n")})
			}
			inside = ""
		case inside != "":
			open = append(open, line)
		default:
			if h := heading.FindStringSubmatch(line); h != nil {
				section = h[1]
				d.addAnchor(h[1])
			}
			for _, l := range link.FindAllStringSubmatch(code.ReplaceAllString(line, "`"), -1) {
				d.Links = append(d.Links, l[1])
			}
		}
	}
	return d
}

func commands(language string) bool {
	return language == "" || language == "sh" || language == "console"
}

var (
	marks    = regexp.MustCompile("\\[([^\\]]*)\\]\\([^)]*\\)|[`*]")
	unlikely = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// addAnchor makes the anchor of a heading as GitHub does; one that comes again is
// numbered.
func (d *Document) addAnchor(title string) {
	plain := marks.ReplaceAllString(title, "$1")
	base := strings.ReplaceAll(unlikely.ReplaceAllString(strings.ToLower(plain), ""), " ", "-")
	anchor := base
	for n := 1; d.Anchors[anchor]; n++ {
		anchor = fmt.Sprintf("%s-%d", base, n)
	}
	d.Anchors[anchor] = true
}
