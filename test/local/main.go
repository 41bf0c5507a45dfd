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

	_ "github.com/etcdroll/etcdroll/test/local/podtool" // makes this program the pause image's, too
)

// The parent-death signal of components follows the thread that started them:
// the main goroutine keeps the main thread, which lives as long as the process.
func init() { runtime.LockOSThread() }

func main() { os.Exit(execute(os.Args[1:])) }

func execute(args []string) int {
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
	root.AddCommand(buildCommand(), upCommand(), downCommand(), stopComponentCommand(), startComponentCommand(), signalComponentCommand(),
		logsCommand(), ipCommand(), killCommand(), agentCommand())
	return root
}
