// Package plan tells what the function would do with a set now, without doing
// it: it observes with the function's own eyes and decides with its rules.
package plan

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/look"
)

type options struct {
	*access.Access
	out access.Output
}

// Command is `plan`.
func Command(a *access.Access) *cobra.Command {
	o := options{Access: a}
	c := &cobra.Command{
		Use: "plan NAME", Short: "Tell the next step and how every gate stands; changes nothing",
		Long: `Observes the set, its pods and its members exactly as the function does, lets the
same rules decide, and prints the next step, every gate with what was measured and
what it wants, how many leader moves are still to come, and where each value of
the configuration came from. It never writes.

Exit codes: 0 a step is due, under way, or nothing is to be done; 1 error;
2 the set is halted, or a gate or the configuration stands in the way.`,
		Example: "  kubectl etcdroll plan etcd -n prod",
		Args:    access.Named, ValidArgsFunction: a.Sets(true),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	access.OutputFlag(c, &o.out, access.Wide, access.JSON, access.YAML)
	a.ViaFlag(c)
	return c
}

// patience is far above what an observation takes: three call timeouts of the
// prober and a few reads.
const patience = 30 * time.Second

func (o options) run(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cluster, err := o.Connect()
	if err != nil {
		return err
	}
	set, err := cluster.ManagedSet(ctx, name)
	if err != nil {
		return err
	}
	sight, decision, err := cluster.Observer().Measure(ctx, events.Target{Namespace: cluster.Namespace, Name: name})
	if err != nil {
		return access.Remedied("observe "+cluster.Namespace+"/"+name, err)
	}
	picture := look.At(look.Facts{Object: set, Observed: sight.Observed, Pods: true})
	p := of(sight, decision, picture)
	if o.out.Structured() {
		err = o.Encode(o.out, p)
	} else {
		o.Print(p.lines(o.Style(), o.out == access.Wide))
	}
	if reason := p.inTheWay(); err == nil && reason != "" {
		return access.Fail(access.ExitStop, "%s/%s does not move on: %s", p.Namespace, p.Name, reason)
	}
	return err
}
