package access

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/kubectl/reach"
	"github.com/etcdroll/etcdroll/pkg/kubectl/screen"
)

// Access is what every command has in common.
type Access struct {
	Flags   *genericclioptions.ConfigFlags
	Streams genericiooptions.IOStreams
	Getenv  func(string) string
	// Connect opens the cluster; a test gives one of its own.
	Connect func() (*Cluster, error)

	via string
}

// New is the access of the real command.
func New(streams genericiooptions.IOStreams) *Access {
	a := &Access{Flags: genericclioptions.NewConfigFlags(true), Streams: streams, Getenv: os.Getenv}
	a.Connect = a.connect
	return a
}

func (a *Access) connect() (*Cluster, error) {
	via, err := reach.ParseVia(a.via)
	if err != nil {
		return nil, Fail(ExitError, "--via %v", err)
	}
	namespace, _, err := a.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w: check --kubeconfig and --context", err)
	}
	config, err := a.Flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w: check --kubeconfig and --context", err)
	}
	return open(config, namespace, via)
}

// ViaFlag adds the flag that says how members are reached.
func (a *Access) ViaFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.via, "via", string(reach.Auto), "how etcd is reached: auto, direct (the pods' addresses) or port-forward (through the API server)")
	_ = c.RegisterFlagCompletionFunc("via", cobra.FixedCompletions([]string{string(reach.Auto), string(reach.Direct), string(reach.PortForward)}, cobra.ShellCompDirectiveNoFileComp))
}

// Style is what the standard output can show.
func (a *Access) Style() screen.Style { return screen.StyleOf(a.Streams.Out, a.Getenv) }

// Say prints a line to the standard output.
func (a *Access) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Streams.Out, format+"\n", args...)
}

// Print prints lines to the standard output.
func (a *Access) Print(lines []string) {
	_, _ = fmt.Fprintln(a.Streams.Out, strings.Join(lines, "\n"))
}

const completesWithin = 3 * time.Second

// Sets completes the name of a set: of managed ones, or of those that are not.
func (a *Access) Sets(managed bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		cluster, err := a.Connect()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		selector, seconds := events.LabelManaged+"=true", int64(completesWithin.Seconds())
		if !managed {
			selector = events.LabelManaged + "!=true"
		}
		list, err := cluster.Client.AppsV1().StatefulSets(cluster.Namespace).List(cmd.Context(), metav1.ListOptions{LabelSelector: selector, TimeoutSeconds: &seconds})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for i := range list.Items {
			if name := list.Items[i].Name; strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// Named takes exactly one argument, the name of a set.
func Named(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] != "" {
		return nil
	}
	return fmt.Errorf("%s wants the name of one StatefulSet, not %d arguments: %s", cmd.CommandPath(), len(args), cmd.UseLine())
}

// Namespaces completes the name of a namespace.
func (a *Access) Namespaces() cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		cluster, err := a.Connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		seconds := int64(completesWithin.Seconds())
		list, err := cluster.Client.CoreV1().Namespaces().List(cmd.Context(), metav1.ListOptions{TimeoutSeconds: &seconds})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for i := range list.Items {
			if name := list.Items[i].Name; strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
