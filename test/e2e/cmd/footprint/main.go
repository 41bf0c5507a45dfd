// Command footprint measures what the two parts cost: how soon the function
// listens and answers, how long a step takes, what it reads and allocates, how
// much memory and disk both take. It writes docs/footprint.md; figures depend on
// the machine. The programs and images are those that `make image` has made.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/scale/setting"
)

func main() {
	out := flag.String("out", filepath.Join("docs", "footprint.md"), "`file` to write, below the checkout unless absolute")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := write(ctx, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "footprint:", err)
		os.Exit(1)
	}
}

// measured are the paths that make a difference to the figures.
var measured = []string{"cmd", "pkg", "config", "go.mod", "Makefile", "test/e2e", "test/local", "test/scale/cost", "tools/release"}

func write(ctx context.Context, out string) error {
	root, err := cluster.Root(ctx)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(root, out)
	}
	commit, err := setting.Commit(ctx, root, measured...)
	if err != nil {
		return err
	}
	r, err := measure(ctx, root)
	if err != nil {
		return err
	}
	r.Machine, r.Commit = setting.Machine(), commit
	text := render(r)
	fmt.Print(text)
	return os.WriteFile(out, []byte(text), 0o644)
}

// measure does one thing at a time, so that none is in the figures of another.
func measure(ctx context.Context, root string) (results, error) {
	dir, err := os.MkdirTemp("", "etcdroll-footprint-")
	if err != nil {
		return results{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	dist, tell := filepath.Join(root, "dist"), progress()
	ofPrograms, err := sizes(dist)
	if err != nil {
		return results{}, err
	}
	allocated, err := stepProfile(ctx, root, dir)
	if err != nil {
		return results{}, err
	}
	tell("the allocation profile")
	c, err := cluster.Start(ctx, dir, os.Stderr)
	if err != nil {
		return results{}, err
	}
	defer c.Stop()
	r := results{Profile: allocated, Chapters: []chapter{{"Sizes", howSizes, ofPrograms}}}
	if r.Software, err = software(c); err != nil {
		return results{}, err
	}
	programs := product.Programs{Trigger: programIn(dist, "trigger"), Function: programIn(dist, "roll-fn")}
	err = onCluster(ctx, c, programs, &r, tell)
	r.Chapters = append(r.Chapters, chapter{"Allocations of a step", howProfile, allocated.figures()})
	return r, err
}

// onCluster adds what is measured with real members.
func onCluster(ctx context.Context, c *cluster.Cluster, programs product.Programs, r *results, tell func(string)) error {
	for _, of := range []struct {
		what string
		do   func(context.Context, *cluster.Cluster, product.Programs) ([]chapter, error)
	}{{"the sets of three", ofThree}, {"the set of nine", nineMembers}} {
		chapters, err := of.do(ctx, c, programs)
		if err != nil {
			return fmt.Errorf("%s: %w", of.what, err)
		}
		r.Chapters = append(r.Chapters, chapters...)
		tell(of.what)
	}
	return nil
}

func software(c *cluster.Cluster) (string, error) {
	version, err := c.Client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return "Kubernetes " + version.GitVersion + ", members of etcd 3.6 rolled to " + nextVersion, nil
}

// progress tells how long each part took.
func progress() func(what string) {
	last := time.Now()
	return func(what string) {
		fmt.Fprintf(os.Stderr, "%s took %s\n", what, time.Since(last).Round(time.Second))
		last = time.Now()
	}
}
