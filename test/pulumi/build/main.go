// Command build makes the programs of `make test-pulumi` and keeps them in the
// cache of the local cluster's programs. It prints the path of each that it is
// asked for, or of all.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/etcdroll/etcdroll/test/local/binaries"
)

const (
	stripped = "-s -w"
	// Pulumi compares this with what a program's SDK asks for.
	providerVersion = "4.24.1-0.20260115033456"
)

// programs is what is built, in this order.
var programs = []binaries.Binary{
	{Name: "pulumi", Module: "cli", Package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
		LDFlags: stripped + " -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.274.1"},
	{Name: "pulumi-resource-kubernetes", Module: "provider", Package: "./kubernetes",
		LDFlags: stripped + " -X github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version=" + providerVersion},
	{Name: "pulumi-language-yaml", Module: "yaml", Package: "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml", LDFlags: stripped},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := build(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(ctx context.Context, names []string) error {
	cache, err := binaries.CacheDir()
	if err != nil {
		return err
	}
	local, err := binaries.SourceDir() // test/local/binaries of the checkout
	if err != nil {
		return err
	}
	b := &binaries.Builder{Catalog: programs, Cache: cache, Source: filepath.Join(local, "..", "..", "pulumi", "build"), Progress: os.Stderr}
	if len(names) == 0 {
		for _, p := range programs {
			names = append(names, p.Name)
		}
	}
	for _, name := range names {
		path, err := b.Build(ctx, name)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}
