package mutations

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// Root is the module's directory, seen from this package.
const Root = "../.."

// runsWithin bounds one build and run. A mutated product may wait for ever.
const runsWithin = 3 * time.Minute

// result is what came of running named tests.
type result struct {
	passed, failed map[string]bool
	built          bool
	output         string
}

// mutated writes the altered file into dir and gives the overlay to build with.
func (m Mutation) mutated(dir string) (string, error) { return Overlay(Root, dir, m.edit()) }

// runnable is the test's name as go test prints it.
func (m Mutation) runnable() string { return strings.ReplaceAll(m.Test, " ", "_") }

// pattern selects that test alone.
func (m Mutation) pattern() string {
	parts := strings.Split(m.runnable(), "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// run runs the tests that match in one package; overlay may be empty.
func run(ctx context.Context, pkg, pattern, overlay string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, runsWithin)
	defer cancel()
	arguments := []string{"test", "-json", "-vet=off", "-timeout=2m", "-run", pattern}
	if overlay != "" {
		arguments = append(arguments, "-overlay", overlay)
	}
	command := exec.CommandContext(ctx, "go", append(arguments, pkg)...)
	command.Dir = Root
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return result{}, fmt.Errorf("go test %s: %w\n%s", pkg, errors.Join(err, ctx.Err()), stderr.String())
	}
	return read(&stdout, stderr.String()), nil
}

// read takes what go test tells as JSON, one event a line.
func read(stdout *bytes.Buffer, stderr string) result {
	r := result{passed: map[string]bool{}, failed: map[string]bool{}, built: true}
	var words strings.Builder
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		words.WriteString(e.Output)
		switch {
		case e.Action == "build-fail":
			r.built = false
		case e.Action == "pass" && e.Test != "":
			r.passed[e.Test] = true
		case e.Action == "fail" && e.Test != "":
			r.failed[e.Test] = true
		}
	}
	r.output = words.String() + stderr
	return r
}
