package main

import (
	"context"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

// guided is the first act: the roll with etcdroll, in the direct topology.
func (s *scene) guided(ctx context.Context) (result, error) {
	config := map[string]any{"cooldownSeconds": int(s.cooldown.Seconds()), "readyTimeoutSeconds": 120}
	a, err := s.act(ctx, "etcdroll", etcdset.Options{Config: config, Release: "demo"})
	if err != nil {
		return result{}, err
	}
	function, err := s.startProduct(ctx, a)
	if err != nil {
		return result{}, err
	}
	s.screen.line("waiting until etcdroll has taken the new set in charge (no restart, no leader move)")
	if err := a.observer.Until(ctx, formsWithin, "the set was not taken in charge", observer.View.Settled); err != nil {
		return result{}, err
	}
	if s.pictures != "" {
		defer s.takeLiveView(ctx, a)()
	}
	return s.roll(ctx, a, follow(function.Log()), observer.View.Settled)
}

// startProduct starts function and trigger with the rights they ship with.
func (s *scene) startProduct(ctx context.Context, a *actors) (*product.Part, error) {
	place, err := product.Install(ctx, s.cluster, s.programs, a.set.Namespace, false)
	if err != nil {
		return nil, err
	}
	function, err := place.Function()
	if err != nil {
		return nil, err
	}
	s.atEnd(function.Stop)
	trigger, err := place.Trigger(function.URL)
	if err != nil {
		return nil, err
	}
	s.atEnd(trigger.Stop)
	s.screen.line("roll-fn listens on %s, trigger watches namespace %s", function.URL, a.set.Namespace)
	return function, nil
}

// native is the second act: the same change without etcdroll.
func (s *scene) native(ctx context.Context) (result, error) {
	s.screen.line("")
	s.screen.line("now the same change with the StatefulSet controller's own rolling update (partition 0)")
	a, err := s.act(ctx, "native", etcdset.Options{Native: true})
	if err != nil {
		return result{}, err
	}
	return s.roll(ctx, a, nil, func(v observer.View) bool {
		return v.AllOnTarget() && v.AllUp() && v.Set.Current == v.Set.Update
	})
}

// roll changes the template and shows what happens until it is done.
func (s *scene) roll(ctx context.Context, a *actors, thoughts *thoughts, done func(observer.View) bool) (result, error) {
	if err := a.set.LeadWith(ctx, s.leader); err != nil {
		return result{}, err
	}
	mark, began := a.observer.Mark(), time.Now()
	if err := s.change(ctx, a); err != nil {
		return result{}, err
	}
	showing, stop := context.WithCancel(ctx)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		s.show(showing, a, mark, began, thoughts)
	}()
	err := a.observer.Until(ctx, rollsWithin, "the roll has not ended", done)
	stop()
	<-shown
	if err != nil {
		return result{}, err
	}
	r, err := a.finish(ctx, mark, began)
	r.leader = a.set.PodName(s.leader)
	return r, err
}
