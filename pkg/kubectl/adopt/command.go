// Package adopt puts an existing set in etcdroll's charge: it looks first, says
// what it found and what would change, and then labels and locks the set. It
// never unlocks one.
package adopt

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spf13/cobra"

	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/screen"
)

type options struct {
	*access.Access
	config, configFile string
	paused             bool
	dryRun             string
	out                access.Output
	now                func() time.Time
}

// Command is `adopt`.
func Command(a *access.Access) *cobra.Command {
	o := options{Access: a}
	c := &cobra.Command{
		Use: "adopt NAME", Short: "Put an existing set in etcdroll's charge: look, label, lock",
		Long: `Looks at the set as the function will see it (shape, strategy, probes, grace
period, replicas, disruption budget, configuration, members), says what it found
and what changes, and then, in one write, sets the label etcdroll.dev/managed and
raises the partition to the number of replicas. It never lowers a partition and
restarts nothing by itself.

Put the label into the set's own manifest as well, and the partition too unless a
tool applies that manifest with force (Argo CD, Flux, Helm 4).

Exit codes: 0 adopted, or nothing to change; 1 error; 2 something found stands
in the way, and nothing was changed.`,
		Example: "  kubectl etcdroll adopt etcd -n prod --dry-run=server\n  kubectl etcdroll adopt etcd -n prod --config-file=config.yaml",
		Args:    access.Named, ValidArgsFunction: a.Sets(false),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	c.Flags().StringVar(&o.config, "config", "", "name of the ConfigMap with key config.yaml; default: everything is derived from the set")
	c.Flags().StringVar(&o.configFile, "config-file", "", "create that ConfigMap from this file (name: --config, or NAME-etcdroll)")
	c.Flags().BoolVar(&o.paused, "paused", false, "adopt it paused, so that no roll begins before: kubectl etcdroll resume")
	c.Flags().StringVar(&o.dryRun, "dry-run", "none", "none, client (only look) or server (let the API server check the writes as well)")
	_ = c.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "client", "server"}, cobra.ShellCompDirectiveNoFileComp))
	access.OutputFlag(c, &o.out, access.JSON, access.YAML)
	a.ViaFlag(c)
	return c
}

// report is what is printed.
type report struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Findings  []Finding `json:"findings"`
	Changes   []string  `json:"changes"`
	Result    string    `json:"result"`
}

func (o options) run(ctx context.Context, name string) error {
	if o.dryRun != "none" && o.dryRun != "client" && o.dryRun != "server" {
		return fmt.Errorf("--dry-run %q: use none, client or server", o.dryRun)
	}
	cluster, err := o.Connect()
	if err != nil {
		return err
	}
	o.now = cluster.Clock
	set, err := cluster.Set(ctx, name)
	if err != nil {
		return err
	}
	ch, err := o.change(set)
	if err != nil {
		return err
	}
	r := report{Namespace: set.Namespace, Name: name, Findings: []Finding{}, Changes: ch.words(set)}
	found, err := preflight(ctx, cluster, set, ch)
	if err != nil {
		return err
	}
	r.Findings = append(r.Findings, found...)
	failure := o.carryOut(ctx, cluster, set, ch, &r)
	if o.out.Structured() {
		err = o.Encode(o.out, r)
	} else {
		o.Print(r.lines(o.Style()))
	}
	if failure != nil {
		return failure
	}
	return err
}

// carryOut makes the change unless something stands in its way.
func (o options) carryOut(ctx context.Context, c *access.Cluster, set *appsv1.StatefulSet, ch *change, r *report) error {
	var dryRun []string
	switch {
	case r.stopped():
		r.Result = "nothing was changed"
		return access.Fail(access.ExitStop, "%s/%s cannot be adopted as it is: mend what is marked stop", r.Namespace, r.Name)
	case ch.empty():
		r.Result = "adopted already; nothing to change"
		return nil
	case o.dryRun == "client":
		r.Result = "dry run: nothing was changed"
		return nil
	case o.dryRun == "server":
		dryRun = []string{metav1.DryRunAll}
	}
	if err := ch.apply(ctx, c, set, dryRun); err != nil {
		r.Result = "not adopted"
		return err
	}
	r.Result = "adopted"
	if len(dryRun) > 0 {
		r.Result = "dry run: the API server accepts it; nothing was changed"
	}
	return nil
}

func (r report) stopped() bool {
	for _, f := range r.Findings {
		if f.Severity == Stop {
			return true
		}
	}
	return false
}

func (r report) lines(style screen.Style) []string {
	lines := []string{style.Paint(screen.Strong, r.Namespace+"/"+r.Name), "found"}
	if len(r.Findings) == 0 {
		lines = append(lines, "  nothing that stands in the way")
	}
	tones := map[Severity]screen.Tone{Stop: screen.Bad, Warn: screen.Warning, Note: screen.Quiet}
	for _, f := range r.Findings {
		text := f.What
		if f.Remedy != "" {
			text += ". What to do: " + f.Remedy
		}
		lines = append(lines, style.Wrap("  "+style.Paint(tones[f.Severity], string(f.Severity))+"  ", "        ", text)...)
	}
	lines = append(lines, "changes")
	for _, c := range r.Changes {
		lines = append(lines, style.Wrap("  ", "    ", c)...)
	}
	if len(r.Changes) == 0 {
		lines = append(lines, "  none")
	}
	lines = append(lines, "result: "+r.Result)
	if r.Result == "adopted" {
		lines = append(lines, style.Wrap("", "  ", "put the label into the set's manifest as well, so that the next apply agrees; the partition too, unless the tool applies with force (Argo CD, Flux, Helm 4); then: kubectl etcdroll status "+r.Name+" -n "+r.Namespace)...)
	}
	return lines
}
