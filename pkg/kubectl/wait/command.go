// Package wait waits until a set has converged, and says why if it has not.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/spf13/cobra"

	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/follow"
	"github.com/etcdroll/etcdroll/pkg/kubectl/look"
)

type options struct {
	*access.Access
	timeout time.Duration
	quiet   bool
}

// Command is `wait`.
func Command(a *access.Access) *cobra.Command {
	o := options{Access: a}
	c := &cobra.Command{
		Use: "wait NAME", Short: "Wait until a set has converged",
		Long: `Waits until the set is converged at the template that it has when the command
starts or that it gets meanwhile: converged-revision equals status.updateRevision,
the controller has seen the latest spec, and the release token, if there is one,
is marked converged. What the watch shows is confirmed by a fresh read before the
command ends.

Exit codes:
  0  converged
  1  not converged within --timeout; what it stands at is printed
  2  halted; the reason and what to do are printed
  3  it could not be looked at: no such set, not managed, no rights, bad flags`,
		Example: "  kubectl etcdroll wait etcd -n prod --timeout=30m",
		Args:    access.Named, ValidArgsFunction: a.Sets(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := o.run(cmd.Context(), args[0])
			var own *access.Failure
			if err != nil && !errors.As(err, &own) {
				return access.Fail(access.ExitUsage, "%s", access.OneLine(err))
			}
			return err
		},
	}
	c.Flags().DurationVar(&o.timeout, "timeout", 30*time.Minute, "how long to wait; 0 looks once")
	c.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print nothing while waiting")
	return c
}

func (o options) run(ctx context.Context, name string) error {
	if o.timeout < 0 {
		return fmt.Errorf("--timeout must not be negative, not %s; 0 looks once", o.timeout)
	}
	cluster, err := o.Connect()
	if err != nil {
		return err
	}
	set, err := cluster.ManagedSet(ctx, name)
	if err != nil {
		return err
	}
	if done, err := o.verdict(set, cluster.Clock()); done {
		return err
	}
	w := waiter{options: o, cluster: cluster, name: name, last: set}
	return w.wait(ctx)
}

// verdict says whether the wait is over, and how.
func (o options) verdict(set *appsv1.StatefulSet, now time.Time) (bool, error) {
	observed := fn.Read(set, nil, now)
	switch {
	case look.Converged(observed):
		o.Say("%s/%s converged at %s", set.Namespace, set.Name, set.Status.UpdateRevision)
		return true, nil
	case look.Halted(observed) && observed.ResumeToken != observed.Status.HaltID:
		s := observed.Status
		return true, access.Fail(access.ExitStop, "%s/%s is halted: %s: %s What to do: %s (%s)",
			set.Namespace, set.Name, s.Reason, sentence(s.Message), roll.Explain(s.Reason).Remedy, look.GoOn(s.Reason, set.Namespace, set.Name))
	}
	return false, nil
}

func sentence(text string) string {
	if text == "" || text[len(text)-1] == '.' {
		return text
	}
	return text + "."
}

// waiter follows one set.
type waiter struct {
	options
	cluster *access.Cluster
	name    string
	last    *appsv1.StatefulSet
	said    string
}

func (w *waiter) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	sets := follow.One(ctx, w.cluster.Client, w.cluster.Namespace, w.name)
	// A watch may stay silent without an end, so the set is read afresh now and
	// then whatever the watch shows.
	again := time.NewTicker(readEvery)
	defer again.Stop()
	w.tell(w.last)
	for {
		fresh := false
		select {
		case <-ctx.Done():
			return w.over(ctx)
		case <-again.C:
			fresh = true
		case <-sets.Changed():
			all, seen := sets.All()
			fresh = seen && len(all) == 0 // deleted, or so it seems
			if len(all) == 1 {
				w.tell(all[0])
				fresh = w.perhaps(all[0])
			}
		}
		if !fresh {
			continue
		}
		if done, err := w.confirm(ctx); done {
			return err
		}
	}
}

// readEvery is how long a silent watch is believed.
const readEvery = 30 * time.Second

// perhaps says that by what the watch shows, which may be old, the wait is
// over.
func (w *waiter) perhaps(set *appsv1.StatefulSet) bool {
	observed := fn.Read(set, nil, w.cluster.Clock())
	return look.Converged(observed) || look.Halted(observed)
}

// confirm reads the set from the API server's store.
func (w *waiter) confirm(ctx context.Context) (bool, error) {
	set, err := w.cluster.ManagedSet(ctx, w.name)
	switch {
	case err == nil:
		w.last = set
		w.tell(set)
		return w.verdict(set, w.cluster.Clock())
	case ctx.Err() != nil:
		return true, w.over(ctx)
	case passes(err):
		return false, nil
	}
	return true, err
}

// passes: an API server that is away for a while ends no wait.
func passes(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return !errors.Is(err, access.ErrUnmanaged)
	}
	return !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err)
}

// over is the end of the time, or of the person's patience.
func (w *waiter) over(ctx context.Context) error {
	line := look.At(look.Facts{Object: w.last, Observed: fn.Read(w.last, nil, w.cluster.Clock())}).Line()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return access.Fail(access.ExitError, "not converged within %s; %s", w.timeout, line)
	}
	return access.Fail(access.ExitError, "interrupted; %s", line)
}

// tell says on the error output what has changed.
func (w *waiter) tell(set *appsv1.StatefulSet) {
	if set.Generation >= w.last.Generation {
		w.last = set
	}
	picture := look.At(look.Facts{Object: set, Observed: fn.Read(set, nil, w.cluster.Clock())})
	key := fmt.Sprint(picture.Standing, picture.Reason, picture.Updated, picture.Lock)
	if w.quiet || key == w.said || picture.Converged {
		return
	}
	w.said = key
	_, _ = fmt.Fprintln(w.Streams.ErrOut, picture.Line())
}
