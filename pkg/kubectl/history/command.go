// Package history tells what a set's rolls have come to: the receipt of the
// last one, the one under way, and what was reported lately.
package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
)

// History is what is printed.
type History struct {
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	Last      *roll.Receipt `json:"last,omitempty"`
	Current   *Current      `json:"current,omitempty"`
	Recent    []Happening   `json:"recent"`
	Notes     []string      `json:"notes,omitempty"`

	podName func(int) string
}

// Current is the roll under way.
type Current struct {
	Target    string      `json:"target"`
	Started   time.Time   `json:"started"`
	Steps     int64       `json:"steps"`
	Moves     int         `json:"leaderMoves"`
	Unplanned int         `json:"unplannedElections"`
	Abandoned []roll.Seen `json:"targetsOfTheLastHour,omitempty"`
}

// Happening is one Event that the function reported about the set.
type Happening struct {
	At     time.Time `json:"at"`
	Type   string    `json:"type"`
	Reason string    `json:"reason"`
	Note   string    `json:"note"`
}

// Command is `history`.
func Command(a *access.Access) *cobra.Command {
	var out access.Output
	most := 10
	c := &cobra.Command{
		Use: "history NAME", Short: "Show the receipt of the last roll, and what happened lately",
		Long: `The receipt is kept on the set until the next roll has converged. What happened
lately is taken from the cluster's Events, which are kept for about an hour.

Exit codes: 0 shown, 1 error.`,
		Example: "  kubectl etcdroll history etcd -n prod",
		Args:    access.Named, ValidArgsFunction: a.Sets(true),
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), a, args[0], most, out) },
	}
	c.Flags().IntVar(&most, "events", most, "how many Events to show at most")
	access.OutputFlag(c, &out, access.JSON, access.YAML)
	return c
}

func run(ctx context.Context, a *access.Access, name string, most int, out access.Output) error {
	cluster, set, observed, err := a.Read(ctx, name)
	if err != nil {
		return err
	}
	h := of(observed)
	h.Recent, err = happenings(ctx, cluster, name, string(set.UID), most)
	if err != nil {
		h.Notes = append(h.Notes, access.OneLine(access.Remedied("list events", err)))
	}
	if out.Structured() {
		return a.Encode(out, h)
	}
	a.Print(h.lines(a.Style()))
	return nil
}

func of(o roll.Observed) History {
	h := History{Namespace: o.Set.Namespace, Name: o.Set.Name, Last: o.Record.Last, Recent: []Happening{}, podName: o.Set.PodName}
	// A set that is forming has a record and no roll.
	if r := o.Record; r.Seq > 0 && !r.Done && r.UID == o.Set.UID && !r.Started.IsZero() {
		h.Current = &Current{Target: r.Target, Started: r.Started, Steps: r.Seq - r.FirstSeq, Moves: r.Moves, Unplanned: r.Unplanned}
		if len(r.Recent) > 1 {
			h.Current.Abandoned = r.Recent
		}
	}
	return h
}

// reporter is who the Events of the function come from.
const reporter = "etcdroll.dev/roll-fn"

func happenings(ctx context.Context, c *access.Cluster, name, uid string, most int) ([]Happening, error) {
	only := fields.Set{"involvedObject.kind": "StatefulSet", "involvedObject.name": name}.AsSelector().String()
	list, err := c.Client.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{FieldSelector: only})
	if err != nil {
		return []Happening{}, err
	}
	found := []Happening{}
	for i := range list.Items {
		e := &list.Items[i]
		if e.ReportingController == reporter && string(e.InvolvedObject.UID) == uid && e.InvolvedObject.Name == name {
			found = append(found, Happening{At: timeOf(e), Type: e.Type, Reason: e.Reason, Note: strings.TrimPrefix(e.Message, e.Reason+": ")})
		}
	}
	slices.SortStableFunc(found, func(a, b Happening) int { return a.At.Compare(b.At) })
	return found[max(0, len(found)-max(0, most)):], nil
}

func timeOf(e *corev1.Event) time.Time {
	switch {
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	}
	return e.CreationTimestamp.Time
}

// podTimes tells how long each pod took, in the order in which they went.
func (h History) podTimes(r *roll.Receipt) []string {
	order := slices.SortedFunc(maps.Keys(r.Pods), func(a, b int) int { return r.Pods[a].Began.Compare(r.Pods[b].Began) })
	var list []string
	for _, i := range order {
		p := r.Pods[i]
		text := fmt.Sprintf("%s: Ready after %s, settled after %s", h.podName(i), took(p.Began, p.Ready), took(p.Began, p.Settled))
		if n := r.Attempts[i]; n > 1 {
			text += fmt.Sprintf(", %d attempts", n)
		}
		list = append(list, text)
	}
	return list
}

func took(from, to time.Time) string {
	if to.IsZero() || to.Before(from) {
		return "?"
	}
	return to.Sub(from).Round(time.Second).String()
}
