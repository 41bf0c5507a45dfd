package fault

import (
	"context"
	"syscall"

	"github.com/etcdroll/etcdroll/test/chaos/stage"
)

// killFunction ends the function with SIGKILL; it is restarted at once.
type killFunction struct {
	base
	s *stage.Stage
}

func (f *killFunction) Inject(context.Context) error {
	f.s.Function.Kill()
	return nil
}

// killAt ends the function exactly before or after its next effect.
type killAt struct {
	base
	s *stage.Stage
}

func (f *killAt) Inject(context.Context) error { return f.s.Place.Arm(f.At) }

func (f *killAt) Heal(context.Context) error {
	f.trace.Note = "died " + f.At
	if f.s.Place.Disarm() {
		return ErrNoEffect // the checkpoint was not passed any more
	}
	return nil
}

// moreFunctions runs one or two functions beside the first.
type moreFunctions struct {
	base
	s     *stage.Stage
	stops []func()
}

func (f *moreFunctions) Inject(context.Context) error {
	for range f.Count - 1 {
		stop, err := f.s.Another()
		if err != nil {
			f.stop()
			return err
		}
		f.stops = append(f.stops, stop)
	}
	return nil
}

func (f *moreFunctions) Heal(context.Context) error {
	f.stop()
	return nil
}

func (f *moreFunctions) stop() {
	for _, stop := range f.stops {
		stop()
	}
}

// freezeFunction stops the function wherever it is and lets it go on later, with
// what it had read before.
type freezeFunction struct {
	base
	s *stage.Stage
}

func (f *freezeFunction) Inject(context.Context) error {
	f.s.Function.Signal(syscall.SIGSTOP)
	return nil
}

func (f *freezeFunction) Heal(context.Context) error {
	f.s.Function.Signal(syscall.SIGCONT)
	return nil
}
