package trigger

import (
	"fmt"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// feed is what one of client-go's reflectors writes its watch into: relisting, resuming and backing off are the
// reflector's, what is kept is ours.
type feed[T any] struct {
	strip     func(obj any) (*T, error)
	keyOf     func(*T) string
	put, drop func(*T) (changed bool)
	replace   func([]*T) (changed []string)
	tell      func(key string)

	once   sync.Once
	filled chan struct{} // closed once the initial list is here
}

func (i *inventory) setFeed(tell func(string)) *feed[strippedSet] {
	return &feed[strippedSet]{
		strip: stripSet, keyOf: func(s *strippedSet) string { return s.view.Key() },
		put: i.putSet, drop: i.dropSet, replace: i.replaceSets, tell: tell, filled: make(chan struct{}),
	}
}

func (i *inventory) podFeed(tell func(string)) *feed[strippedPod] {
	return &feed[strippedPod]{
		strip: stripPod, keyOf: func(p *strippedPod) string { return p.set },
		put: i.putPod, drop: i.dropPod, replace: i.replacePods, tell: tell, filled: make(chan struct{}),
	}
}

// Add takes an object that is new.
func (f *feed[T]) Add(obj any) error { return f.take(obj, f.put) }

// Update takes an object that has changed.
func (f *feed[T]) Update(obj any) error { return f.take(obj, f.put) }

// Delete takes the last state of an object that is gone.
func (f *feed[T]) Delete(obj any) error { return f.take(obj, f.drop) }

func (f *feed[T]) take(obj any, do func(*T) bool) error {
	kept, err := f.strip(obj)
	if err != nil {
		return err
	}
	if do(kept) {
		f.tell(f.keyOf(kept))
	}
	return nil
}

// Replace takes a whole list, as the reflector has it at the start and after a gap.
func (f *feed[T]) Replace(list []any, _ string) error {
	kept := make([]*T, 0, len(list))
	for _, obj := range list {
		one, err := f.strip(obj)
		if err != nil {
			return fmt.Errorf("take a list: %w", err)
		}
		kept = append(kept, one)
	}
	for _, key := range f.replace(kept) {
		f.tell(key)
	}
	f.once.Do(func() { close(f.filled) })
	return nil
}

// Resync has no meaning here: every set is looked at by the sweep.
func (f *feed[T]) Resync() error { return nil }

// Transformer has the reflector strip each object of an initial list as it arrives, so that the whole is never held.
func (f *feed[T]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return f.strip(obj) }
}
