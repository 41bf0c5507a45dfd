// Command local runs a single-machine Kubernetes cluster for tests and the demo:
// the real control plane, real etcd, and a node agent that runs containers as
// processes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/etcdroll/etcdroll/test/local/podtool"
	"github.com/etcdroll/etcdroll/test/local/sandbox"
)

// The parent-death signal of components follows the thread that started them:
// the main goroutine keeps the main thread, which lives as long as the process.
func init() { runtime.LockOSThread() }

func main() { os.Exit(execute(os.Args[1:])) }

func execute(args []string) int {
	if len(args) > 0 { // these two run inside containers and must be quick
		switch args[0] {
		case sandbox.InitCommand:
			return sandbox.Init()
		case podtool.Command:
			return podtool.Main(args[1:])
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root := rootCommand()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "local: "+strings.TrimSpace(err.Error()))
		return 1
	}
	return 0
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "local",
		Short:         "A single-machine Kubernetes cluster for tests and the demo",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(buildCommand(), upCommand(), downCommand(), stopComponentCommand(), startComponentCommand(),
		logsCommand(), ipCommand(), killCommand(), agentCommand())
	return root
}
