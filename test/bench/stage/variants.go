package stage

import (
	"context"
	"fmt"
	"slices"

	"github.com/etcdroll/etcdroll/test/bench/choreography"
	"github.com/etcdroll/etcdroll/test/bench/page"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// Variant is one way to roll the set.
type Variant struct {
	Name  string // in the table
	Title string // for people

	noProbe  bool // new pods are Ready as soon as they run
	onDelete bool
	etcdroll bool
	broker   bool
	soaks    bool // keeps a soak after each restart
	open     bool // partition 0 from the start: the StatefulSet controller rolls by itself
	moves    bool // moves leadership itself
	script   func(ctx context.Context, h choreography.Hands, members int) error
}

// Variants are all, in the order of the table.
var Variants = []Variant{
	{Name: "native-noprobe", Title: "RollingUpdate without readiness probe", noProbe: true, open: true},
	{Name: "native", Title: "RollingUpdate with readiness probe", open: true},
	{Name: "ondelete", Title: "OnDelete by a script, leader last, no transfer", onDelete: true, script: choreography.LeaderLast},
	{Name: "fixed", Title: "fixed choreography of a shell Job", soaks: true, moves: true, script: choreography.Fixed},
	{Name: "direct", Title: "etcdroll, direct", etcdroll: true, soaks: true, moves: true},
	{Name: "broker", Title: "etcdroll through Knative's broker", etcdroll: true, broker: true, soaks: true, moves: true},
}

// Find gives the variant of that name.
func Find(name string) (Variant, error) {
	i := slices.IndexFunc(Variants, func(v Variant) bool { return v.Name == name })
	if i < 0 {
		return Variant{}, fmt.Errorf("there is no variant %q", name)
	}
	return Variants[i], nil
}

// Described is what the document says of them.
func Described() (all []page.Variant) {
	for _, v := range Variants {
		all = append(all, page.Variant{Name: v.Name, Title: v.Title, Moves: v.moves, Etcdroll: v.etcdroll, Broker: v.broker, Identity: v.identity()})
	}
	return all
}

// identity says that it has one of its own at the API server, so that its
// requests can be told from others.
func (v Variant) identity() bool { return v.etcdroll || v.script != nil }

func (v Variant) partition(members int) int {
	if v.open {
		return 0
	}
	return members
}

// finished is what a variant that is no script calls its end.
func (v Variant) finished(view observer.View) bool {
	if v.etcdroll {
		return view.Settled()
	}
	return view.AllOnTarget() && view.AllUp() && view.Set.Current == view.Set.Update
}
