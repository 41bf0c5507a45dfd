package stage

import (
	"context"

	"github.com/etcdroll/etcdroll/test/chaos/apiproxy"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/e2e/relay"
)

// install gives the two parts their rights. All sets are rolled with the right
// to delete pods, which OnDelete needs and recovery uses.
func (s *Stage) install(ctx context.Context) error {
	var secrets []string
	if s.Shape.TLS {
		secrets = append(secrets, secretName)
	}
	place, err := product.Install(ctx, s.Cluster, s.Programs, s.Namespace, true, secrets...)
	if err != nil {
		return err
	}
	if s.Proxy, err = apiproxy.Start(s.Cluster.Config); err != nil {
		return err
	}
	s.onClose(s.Proxy.Stop)
	s.Place, err = place.Through(s.Proxy.URL, apiproxy.Name, s.Proxy.Authority)
	return err
}

// run starts trigger, relay and function.
func (s *Stage) run(context.Context) error {
	var err error
	if s.Function, err = s.Place.Mortal(); err != nil {
		return err
	}
	s.onClose(s.Function.Stop)
	if s.Relay, err = relay.Start(s.Function.URL, s.Weather.Fate); err != nil {
		return err
	}
	s.onClose(s.Relay.Stop)
	if s.Trigger, err = s.Place.Trigger(s.Relay.URL, "--leader-elect=false"); err != nil {
		return err
	}
	s.Trigger.Revive()
	s.onClose(s.Trigger.Stop)
	return nil
}

// Another starts one more function with a trigger of its own, which knows
// nothing of the first. The weather is the same for both.
func (s *Stage) Another() (stop func(), err error) {
	function, err := s.Place.Mortal()
	if err != nil {
		return nil, err
	}
	between, err := relay.Start(function.URL, s.Weather.Fate)
	if err != nil {
		function.Stop()
		return nil, err
	}
	trigger, err := s.Place.Trigger(between.URL, "--leader-elect=false")
	if err != nil {
		between.Stop()
		function.Stop()
		return nil, err
	}
	return func() { trigger.Stop(); between.Stop(); function.Stop() }, nil
}

func (s *Stage) formed(ctx context.Context) error {
	if err := s.Watch(ctx); err != nil {
		return err
	}
	defer s.Unwatch()
	if err := s.Observer.Until(ctx, formsWithin, "the set has not formed", observer.View.AllUp); err != nil {
		return err
	}
	return s.Observer.Until(ctx, markedWithin, "the new set is not marked", observer.View.Settled)
}

// Watch begins to observe.
func (s *Stage) Watch(ctx context.Context) (err error) {
	s.Observer, err = s.Registry.Start(ctx, s.Namespace, s.Set.Name, s.Set.Access)
	return err
}

// Unwatch ends observing.
func (s *Stage) Unwatch() { s.Observer.Stop() }
