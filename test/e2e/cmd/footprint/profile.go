package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	benchmark = "BenchmarkStep"
	timedRuns = 5
	profiled  = 2000 // steps, each allocation of which is in the profile
	topSites  = 10
)

// Which stacks of the profile are the function's: its goroutines have no caller
// in common, and what the played API server and etcd copy is no part of it.
const (
	ours   = `pkg/fn\.\(\*(Handler|Observer|Actor)\)`
	played = `pkg/fn\.\(\*(world|still)\)`
)

// profile is what one step allocates.
type profile struct {
	Took          time.Duration
	Bytes, Allocs int64  // with those who play the API server and etcd
	Own           int64  // bytes of the function alone
	Sites         []site // the first ones of these, the largest first
}

// site is a function that allocates.
type site struct {
	Name  string
	Bytes int64 // for one step
}

// stepProfile runs the benchmark twice: for its time, and to see each allocation.
func stepProfile(ctx context.Context, root, dir string) (profile, error) {
	timed, err := run(ctx, root, "go", "test", "./pkg/fn", "-run=^$", "-bench=^"+benchmark+"$", "-benchmem", "-count="+strconv.Itoa(timedRuns))
	if err != nil {
		return profile{}, err
	}
	p, err := parseBenchmark(timed)
	if err != nil {
		return profile{}, err
	}
	memory, test := filepath.Join(dir, "memory.pprof"), filepath.Join(dir, "fn.test")
	if _, err := run(ctx, root, "go", "test", "./pkg/fn", "-run=^$", "-bench=^"+benchmark+"$",
		fmt.Sprintf("-benchtime=%dx", profiled), "-memprofilerate=1", "-memprofile="+memory, "-o="+test); err != nil {
		return profile{}, err
	}
	top, err := run(ctx, root, "go", "tool", "pprof", "-top", "-sample_index=alloc_space", "-unit=B",
		"-nodecount=100000", "-nodefraction=0", "-focus="+ours, "-ignore="+played, test, memory)
	if err != nil {
		return profile{}, err
	}
	sites, err := parseTop(top, profiled)
	for _, s := range sites {
		p.Own += s.Bytes
	}
	p.Sites = sites[:min(topSites, len(sites))]
	return p, err
}

func run(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		detail := string(out)
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			detail += string(exit.Stderr)
		}
		return "", fmt.Errorf("%s %s: %w\n%s", program, args[0], err, detail)
	}
	return string(out), nil
}

var benchmarkLine = regexp.MustCompile(`(?m)^` + benchmark + `(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s+(\d+) B/op\s+(\d+) allocs/op$`)

// parseBenchmark takes the run with the middle time.
func parseBenchmark(out string) (profile, error) {
	var runs []profile
	for _, m := range benchmarkLine.FindAllStringSubmatch(out, -1) {
		nanos, err1 := strconv.ParseFloat(m[1], 64)
		size, err2 := strconv.ParseInt(m[2], 10, 64)
		allocs, err3 := strconv.ParseInt(m[3], 10, 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			return profile{}, fmt.Errorf("read benchmark: %w", err)
		}
		runs = append(runs, profile{Took: time.Duration(nanos), Bytes: size, Allocs: allocs})
	}
	if len(runs) == 0 {
		return profile{}, fmt.Errorf("no figures of %s in:\n%s", benchmark, out)
	}
	slices.SortFunc(runs, func(a, b profile) int { return cmp.Compare(a.Took, b.Took) })
	return runs[(len(runs)-1)/2], nil
}

var topLine = regexp.MustCompile(`(?m)^\s*(\d+)B?\s+[\d.]+%\s+[\d.]+%\s+\d+B?\s+[\d.]+%\s+(.+?)( \(inline\))?$`)

// parseTop reads the table of pprof, which is of that many steps.
func parseTop(out string, steps int64) ([]site, error) {
	var sites []site
	for _, m := range topLine.FindAllStringSubmatch(out, -1) {
		size, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read profile: %w", err)
		}
		sites = append(sites, site{Name: shortName(m[2]), Bytes: size / steps})
	}
	if len(sites) == 0 {
		return nil, fmt.Errorf("no allocations in:\n%s", out)
	}
	slices.SortStableFunc(sites, func(a, b site) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return sites, nil
}

// shortName leaves out the path of this module, and in brackets all but the type.
func shortName(name string) string {
	name = strings.ReplaceAll(name, "github.com/etcdroll/etcdroll/", "")
	before, types, generic := strings.Cut(name, "[go.shape.")
	if !generic {
		return name
	}
	types, _, _ = strings.Cut(types, ",")
	return before + "[" + strings.TrimSuffix(types, "]") + "]"
}
