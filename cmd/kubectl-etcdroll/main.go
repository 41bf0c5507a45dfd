// Command kubectl-etcdroll is a kubectl plugin to see and steer guarded rolling
// restarts of etcd.
package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubectl knows

	"github.com/etcdroll/etcdroll/pkg/kubectl"
)

// Set by the linker.
var version, commit = "dev", "unknown"

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(kubectl.Main(os.Args[1:], version+" "+commit, streams))
}
