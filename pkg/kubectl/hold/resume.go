package hold

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/spf13/cobra"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/look"
)

// Resume is `resume`.
func Resume(a *access.Access) *cobra.Command {
	var halt string
	c := &cobra.Command{
		Use: "resume NAME", Short: "Go on after a halt or a pause, and say what comes next",
		Long: `A halted set gets its halt cleared, by its id: if another halt has come about in
between, nothing is cleared. Then every gate is asked again, and attempts are
counted anew. A paused set is no longer paused. Nothing is overridden.

A set that is neither halted nor paused is left alone.

Exit codes: 0 resumed, 1 error, or neither halted nor paused.`,
		Example: "  kubectl etcdroll resume etcd -n prod",
		Args:    access.Named, ValidArgsFunction: a.Sets(true),
		RunE: func(cmd *cobra.Command, args []string) error { return resume(cmd.Context(), a, args[0], halt) },
	}
	c.Flags().StringVar(&halt, "halt-id", "", "clear this halt and no other; default: the present one")
	a.ViaFlag(c)
	return c
}

func resume(ctx context.Context, a *access.Access, name, halt string) error {
	cluster, set, observed, err := a.Read(ctx, name)
	if err != nil {
		return err
	}
	changes, said, err := release(set, observed, halt)
	if err != nil {
		return err
	}
	next := whatNext(ctx, cluster, name)
	// The halt is named, so one that has come about meanwhile is not cleared unseen.
	if err := cluster.Annotate(ctx, set, changes); err != nil {
		return err
	}
	for _, line := range said {
		a.Say("%s", line)
	}
	a.Print(a.Style().Wrap("next: ", "  ", next))
	return nil
}

// release is what has to change, and how that is told.
func release(set *appsv1.StatefulSet, o roll.Observed, halt string) (map[string]any, []string, error) {
	name := set.Namespace + "/" + set.Name
	changes, said := map[string]any{}, []string{}
	id := o.Status.HaltID
	switch {
	case look.Halted(o) && halt != "" && halt != id:
		return nil, nil, fmt.Errorf("--halt-id %s: %s is halted as %s: read its reason first", halt, name, id)
	case look.Halted(o):
		changes[events.AnnotationResume] = id
		said = append(said, fmt.Sprintf("%s: halt %s (%s) is cleared", name, id, o.Status.Reason))
		if o.Status.Reason.TriesAgain() {
			said = append(said, fmt.Sprintf("the template is still %s, with which the pod did not start; if that is at fault, change it instead", o.Set.UpdateRevision))
		}
	case halt != "":
		return nil, nil, fmt.Errorf("--halt-id %s: %s is not halted; it stands at %s", halt, name, orNone(o.Status.Phase))
	}
	if o.Paused {
		changes[events.AnnotationPaused] = nil
		said = append(said, name+" is no longer paused")
	}
	if len(changes) == 0 {
		return nil, nil, fmt.Errorf("%s is neither halted nor paused; it stands at %s: see kubectl etcdroll status %s -n %s", name, orNone(o.Status.Phase), set.Name, set.Namespace)
	}
	return changes, said, nil
}

func orNone(p roll.Phase) string {
	if p == "" {
		return "no phase yet"
	}
	return string(p)
}

// whatNext foretells, from a fresh reading, what the function will meet.
func whatNext(ctx context.Context, c *access.Cluster, name string) string {
	sight, _, err := c.Observer().Measure(ctx, events.Target{Namespace: c.Namespace, Name: name})
	if err != nil {
		return "every gate is asked again (they could not be measured from here: " + access.OneLine(err) + ")"
	}
	o := sight.Observed
	ahead := roll.LookAhead(o)
	if look.Converged(o) {
		return "nothing, the set has converged; the next change of its template is rolled"
	}
	if len(ahead.Victims) == 0 {
		return "no pod is outdated; the set is marked converged once every member is healthy"
	}
	pod := o.Set.PodName(ahead.Plan.Victim)
	if sight.Config != nil && !o.Probed || len(o.Members) == 0 {
		return "every gate is asked again; then " + pod + " is replaced"
	}
	if objections := ahead.Verdict.Objections(); len(objections) > 0 {
		var names []string
		for _, f := range objections {
			names = append(names, string(f.Gate)+" ("+f.Measured+")")
		}
		return "the roll goes on with " + pod + " once these gates pass: " + strings.Join(names, "; ")
	}
	if ahead.Moves > 0 && o.LeaderIndex() == ahead.Plan.Victim {
		return "every gate is open; leadership moves off " + pod + ", then it is replaced"
	}
	return "every gate is open; " + pod + " is replaced"
}
