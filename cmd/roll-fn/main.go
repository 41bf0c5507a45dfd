// Command roll-fn takes one guarded step of an etcd rolling restart for each
// event that it is sent.
package main

import (
	"os"

	"github.com/etcdroll/etcdroll/pkg/fn/serve"
)

func main() {
	os.Exit(serve.Main(os.Args[1:], os.Getenv, os.Stdout, os.Stderr, nil))
}
