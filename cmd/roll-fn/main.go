// Command roll-fn takes one guarded step of an etcd rolling restart for each
// event that it is sent.
package main

import (
	"os"

	"github.com/etcdroll/etcdroll/pkg/fn/serve"
)

// Set by the linker.
var version, commit = "dev", "unknown"

func main() {
	serve.Version = version + " " + commit
	os.Exit(serve.Main(os.Args[1:], os.Getenv, os.Stdout, os.Stderr, nil))
}
