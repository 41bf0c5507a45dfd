// Package kubectl is the kubectl plugin: `kubectl etcdroll`. Each command is a
// room of its own below; this one puts them together.
package kubectl

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/adopt"
	"github.com/etcdroll/etcdroll/pkg/kubectl/explain"
	"github.com/etcdroll/etcdroll/pkg/kubectl/history"
	"github.com/etcdroll/etcdroll/pkg/kubectl/hold"
	"github.com/etcdroll/etcdroll/pkg/kubectl/plan"
	"github.com/etcdroll/etcdroll/pkg/kubectl/status"
	"github.com/etcdroll/etcdroll/pkg/kubectl/wait"
)

// Main runs the command line and gives the exit code.
func Main(args []string, version string, streams genericiooptions.IOStreams) int {
	// What the Kubernetes libraries log is for those who wrote them; errors come
	// back as errors.
	klog.SetLogger(klog.Logger{})
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := Command(access.New(streams), version)
	root.SetArgs(args)
	chosen, err := root.ExecuteContextC(ctx)
	if err == nil {
		return access.ExitDone
	}
	_, _ = fmt.Fprintln(streams.ErrOut, "error: "+access.OneLine(err))
	return codeOf(chosen, err)
}

// codeOf is the exit code. Of `wait`, 1 says that time ran out, so what went
// wrong before it could wait has another.
func codeOf(chosen *cobra.Command, err error) int {
	if code := access.ExitCode(err); code != access.ExitError || chosen == nil || chosen.Name() != "wait" {
		return code
	}
	if _, own := err.(*access.Failure); own {
		return access.ExitError
	}
	return access.ExitUsage
}

// Command is `kubectl etcdroll` with all its commands.
func Command(a *access.Access, version string) *cobra.Command {
	root := &cobra.Command{
		Use: "kubectl-etcdroll", Short: "See and steer guarded rolling restarts of etcd",
		Long: `See and steer guarded rolling restarts of etcd clusters that run as StatefulSets.

Exit codes of all commands: 0 done, 1 error. Those of wait, plan and adopt say
more; see their --help.`,
		Version: version, SilenceUsage: true, SilenceErrors: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl etcdroll"},
	}
	root.SetOut(a.Streams.Out)
	root.SetErr(a.Streams.ErrOut)
	a.Flags.AddFlags(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("namespace", a.Namespaces())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%s: see %s --help", strings.TrimSuffix(err.Error(), "\n"), c.CommandPath())
	})
	root.AddCommand(status.Command(a), plan.Command(a), wait.Command(a), hold.Pause(a), hold.Resume(a),
		history.Command(a), explain.Command(a), adopt.Command(a))
	return root
}
