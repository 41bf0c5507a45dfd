// Package status shows how sets stand: one line for each, or one set with its
// members, once or for as long as somebody looks.
package status

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/look"
)

type options struct {
	*access.Access
	name  string
	all   bool
	watch bool
	out   access.Output
}

// Command is `status`.
func Command(a *access.Access) *cobra.Command {
	o := options{Access: a}
	c := &cobra.Command{
		Use: "status [NAME]", Short: "Show how sets stand, or one set with its members",
		Long: `Without NAME: one line for each managed set. With NAME: one line for each member
with its revision, readiness, role and raft lag, the step in flight and how long
it may still take, and the gates that object, with what was measured.

Members are asked as the function asks them, with your rights; without the right
to read the set's Secret, role and lag stay unknown.

With --watch a terminal is redrawn within a second of a change; elsewhere a line
is added for each change. It costs the API server one watch.

Exit codes: 0 shown, 1 error.`,
		Example: "  kubectl etcdroll status -A\n  kubectl etcdroll status etcd -n prod -w",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: a.Sets(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.name = args[0]
			}
			return o.run(cmd.Context())
		},
	}
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "sets of all namespaces")
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on showing changes")
	access.OutputFlag(c, &o.out, access.Wide, access.JSON, access.YAML)
	a.ViaFlag(c)
	return c
}

func (o options) run(ctx context.Context) error {
	if o.name != "" && o.all {
		return fmt.Errorf("NAME and --all-namespaces exclude each other: use --namespace")
	}
	cluster, err := o.Connect()
	if err != nil {
		return err
	}
	switch {
	case o.watch && o.name != "":
		return o.watchOne(ctx, cluster)
	case o.watch:
		return o.watchAll(ctx, cluster)
	case o.name != "":
		return o.showOne(ctx, cluster)
	}
	return o.showAll(ctx, cluster)
}

func (o options) namespace(c *access.Cluster) string {
	if o.all {
		return metav1.NamespaceAll
	}
	return c.Namespace
}

func (o options) showAll(ctx context.Context, c *access.Cluster) error {
	namespace := o.namespace(c)
	list, err := c.Client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: events.LabelManaged + "=true"})
	if err != nil {
		return access.Remedied("list statefulsets in "+where(namespace), err)
	}
	sets := make([]look.Set, 0, len(list.Items))
	for i := range list.Items {
		set := &list.Items[i]
		sets = append(sets, look.At(look.Facts{Object: set, Observed: fn.Read(set, nil, c.Clock())}))
	}
	if o.out.Structured() {
		return o.Encode(o.out, map[string]any{"items": sets})
	}
	if len(sets) == 0 {
		_, _ = fmt.Fprintf(o.Streams.ErrOut, "no managed sets in %s; see kubectl etcdroll adopt --help\n", where(namespace))
		return nil
	}
	o.Print(look.Fleet(sets, o.Style(), o.all, o.out == access.Wide))
	return nil
}

func where(namespace string) string {
	if namespace == metav1.NamespaceAll {
		return "any namespace"
	}
	return "namespace " + namespace
}

func (o options) showOne(ctx context.Context, c *access.Cluster) error {
	set, err := c.Set(ctx, o.name)
	if err != nil {
		return err
	}
	v := &view{cluster: c, set: set}
	if err := v.readPods(ctx); err != nil {
		return err
	}
	v.take(ask(ctx, c, o.name, nil))
	if o.out.Structured() {
		return o.Encode(o.out, v.look())
	}
	o.Print(v.look().Lines(o.Style(), o.out == access.Wide))
	return nil
}
