package hold

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/look"
)

// Pause is `pause`.
func Pause(a *access.Access) *cobra.Command {
	return &cobra.Command{
		Use: "pause NAME", Short: "Take no further member down until resumed",
		Long: `Sets annotation etcdroll.dev/paused. A member that is being replaced is seen
through and the set is locked; then no further one is taken down. A set that is
paused before a change of its template does not begin to roll.

Exit codes: 0 paused, 1 error.`,
		Example: "  kubectl etcdroll pause etcd -n prod",
		Args:    access.Named, ValidArgsFunction: a.Sets(true),
		RunE: func(cmd *cobra.Command, args []string) error { return pause(cmd.Context(), a, args[0]) },
	}
}

func pause(ctx context.Context, a *access.Access, name string) error {
	cluster, set, observed, err := a.Read(ctx, name)
	if err != nil {
		return err
	}
	if observed.Paused {
		a.Say("%s/%s is paused already", set.Namespace, name)
		return nil
	}
	if err := cluster.Annotate(ctx, set, map[string]any{events.AnnotationPaused: "true"}); err != nil {
		return err
	}
	a.Say("%s/%s is paused", set.Namespace, name)
	picture := look.At(look.Facts{Object: set, Observed: observed})
	switch {
	case picture.Step != nil && picture.Step.Pod != "":
		a.Say("next: %s (%s) is seen through and the set is locked; then nothing until: kubectl etcdroll resume %s -n %s", picture.Step.Pod, picture.Step.Kind, name, set.Namespace)
	case picture.Converged:
		a.Say("next: a change of the template will not be rolled until: kubectl etcdroll resume %s -n %s", name, set.Namespace)
	default:
		a.Say("next: nothing until: kubectl etcdroll resume %s -n %s", name, set.Namespace)
	}
	return nil
}
