package stage

import (
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/scale/cost"
)

// parts are the two processes of etcdroll.
type parts struct {
	function, trigger *product.Part
}

// start runs both parts in one of the two topologies, with the arguments that
// config/ gives them.
func (s *Stage) start(throughBroker bool) (*parts, error) {
	place := s.direct
	if throughBroker {
		place = s.broker.Place
	}
	function, err := place.Function()
	if err != nil {
		return nil, err
	}
	sink := function.URL
	if throughBroker {
		sink = s.broker.Sink
	}
	trigger, err := place.Trigger(sink)
	if err != nil {
		function.Stop()
		return nil, err
	}
	if throughBroker {
		s.broker.Route(function, trigger)
	}
	return &parts{function: function, trigger: trigger}, nil
}

// stop may be called on none.
func (p *parts) stop() {
	if p != nil {
		p.trigger.Stop()
		p.function.Stop()
	}
}

// used is the processor time of each so far.
func (p *parts) used() (function, trigger time.Duration, err error) {
	if p == nil {
		return 0, 0, nil
	}
	if function, err = cost.Processor(p.function.PID()); err != nil {
		return 0, 0, fmt.Errorf("processor time of the function: %w", err)
	}
	if trigger, err = cost.Processor(p.trigger.PID()); err != nil {
		return 0, 0, fmt.Errorf("processor time of the trigger: %w", err)
	}
	return function, trigger, nil
}
