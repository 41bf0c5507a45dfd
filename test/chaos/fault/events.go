package fault

import (
	"context"

	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/chaos/stage"
)

// weather repeats, delays, reorders or loses events between trigger and function.
type weather struct {
	base
	s *stage.Stage
}

func (f *weather) Inject(context.Context) error {
	f.s.Weather.Change(uint64(f.For), func(c *stage.Conditions) {
		switch f.Kind {
		case plan.Duplicate:
			c.Copies = f.Count
		case plan.Delay:
			c.Delay = f.Every
		case plan.Reorder:
			c.Spread = f.Every
		case plan.Lose:
			c.Loss = f.Count
		}
	})
	return nil
}

func (f *weather) Heal(context.Context) error {
	f.s.Weather.Change(uint64(f.For), func(c *stage.Conditions) {
		switch f.Kind {
		case plan.Duplicate:
			c.Copies = 0
		case plan.Delay:
			c.Delay = 0
		case plan.Reorder:
			c.Spread = 0
		case plan.Lose:
			c.Loss = 0
		}
	})
	return nil
}

// killTrigger ends the trigger with SIGKILL; it is restarted at once.
type killTrigger struct {
	base
	s *stage.Stage
}

func (f *killTrigger) Inject(context.Context) error {
	f.s.Trigger.Kill()
	return nil
}
