// Package dependencies keeps the list of what is in each command, with its
// licence, under review: a change of go.mod shows as a change of docs/dependencies.
package dependencies

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the lists instead of comparing them")

const (
	root  = "../.."
	lists = root + "/docs/dependencies"
)

type module struct {
	Path, Version, Dir string
	Main               bool
}

// modulesOf are the modules that the linux build of a command has code of.
func modulesOf(t *testing.T, command string) []module {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "grpcnotrace", "-json=Module", "./cmd/"+command)
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var complaints bytes.Buffer
	list.Stderr = &complaints
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", command, err, complaints.String())
	}
	seen := map[string]module{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && !p.Module.Main {
			seen[p.Module.Path] = *p.Module
		}
	}
	all := make([]module, 0, len(seen))
	for _, m := range seen {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// signs are phrases that only one licence has. All of these may be linked into
// an Apache-2.0 program; a licence that is not among them wants a person.
var signs = []struct{ name, phrase string }{
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
	{"BSD-3-Clause", "Neither the name of"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any"},
	{"MIT", "Permission is hereby granted, free of charge"},
}

// licenceOf reads the licence beside the module's code; "" if none is known.
func licenceOf(m module) string {
	files, err := filepath.Glob(filepath.Join(m.Dir, "[Ll][Ii][Cc][Ee][Nn][SsCc][Ee]*"))
	if err != nil {
		return ""
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		words := strings.Join(strings.Fields(string(text)), " ")
		for _, sign := range signs {
			if strings.Contains(words, sign.phrase) {
				return sign.name
			}
		}
	}
	return ""
}

func TestWhatIsInEachCommandIsListed(t *testing.T) {
	commands, err := filepath.Glob(root + "/cmd/*")
	if err != nil || len(commands) == 0 {
		t.Fatalf("%d commands, %v", len(commands), err)
	}
	for _, folder := range commands {
		command := filepath.Base(folder)
		var list strings.Builder
		for _, m := range modulesOf(t, command) {
			licence := licenceOf(m)
			if licence == "" {
				t.Errorf("%s: the licence of %s %s is not known to this test; read it in %s", command, m.Path, m.Version, m.Dir)
			}
			fmt.Fprintf(&list, "%s %s %s\n", m.Path, m.Version, licence)
		}
		file := filepath.Join(lists, command+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(list.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		committed, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; run make dependencies", err)
		}
		if string(committed) != list.String() {
			t.Errorf("%s has changed; review the change and run make dependencies", file)
		}
	}
}

// The function and the trigger are what runs in a cluster; neither drags in
// what only a person's tool needs.
func TestServersCarryNoTool(t *testing.T) {
	for _, command := range []string{"roll-fn", "trigger"} {
		for _, m := range modulesOf(t, command) {
			for _, tool := range []string{"github.com/spf13/cobra", "k8s.io/cli-runtime", "go.etcd.io/etcd/server/v3", "github.com/virtual-kubelet/virtual-kubelet"} {
				if m.Path == tool {
					t.Errorf("%s has code of %s", command, tool)
				}
			}
		}
	}
}
