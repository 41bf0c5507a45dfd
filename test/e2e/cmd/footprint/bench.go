package main

import (
	"context"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

const (
	formsWithin = 3 * time.Minute
	rollsWithin = 5 * time.Minute
	nextVersion = "3.7.3" // sets are created with the minor before
)

// bench is one installation.
type bench struct {
	cluster  *cluster.Cluster
	programs product.Programs
	endings  []func()

	place             *product.Place
	function, trigger *product.Part
	stopwatch         *stopwatch
	first             *etcdset.Set
	watching          *observer.Observer
}

func (b *bench) end() {
	for i := len(b.endings) - 1; i >= 0; i-- {
		b.endings[i]()
	}
}

// install runs the two parts with the stopwatch between them.
func (b *bench) install(ctx context.Context, namespace string, secrets ...string) error {
	var err error
	if b.place, err = product.Install(ctx, b.cluster, b.programs, namespace, false, secrets...); err != nil {
		return err
	}
	if b.function, err = b.place.Function(); err != nil {
		return err
	}
	b.endings = append(b.endings, b.function.Stop)
	if b.stopwatch, err = startStopwatch(b.function.URL); err != nil {
		return err
	}
	b.endings = append(b.endings, b.stopwatch.Stop)
	if b.trigger, err = b.place.Trigger(b.stopwatch.URL); err != nil {
		return err
	}
	b.endings = append(b.endings, b.trigger.Stop)
	return nil
}

// set creates a set and waits until the product has marked it.
func (b *bench) set(ctx context.Context, namespace, name string) (*etcdset.Set, *observer.Observer, error) {
	s, err := etcdset.Create(ctx, b.cluster.Client, etcdset.Options{Namespace: namespace, Name: name, Config: etcdset.Quick()})
	if err != nil {
		return nil, nil, err
	}
	o, err := observer.Start(ctx, b.cluster.Client, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	b.endings = append(b.endings, o.Stop)
	return s, o, o.Until(ctx, formsWithin, "the set was not taken in charge", observer.View.Settled)
}

// rolled says that the set has converged on another revision than this one.
func rolled(from string) func(observer.View) bool {
	return func(v observer.View) bool {
		return v.Settled() && v.Set.Observed >= v.Set.Generation && v.Set.Update != from
	}
}
