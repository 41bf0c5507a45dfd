package trigger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrLeaseLost says that another replica leads now, or that the API server could not be reached for too long.
var ErrLeaseLost = errors.New("lost the lease; another replica may lead now")

// Lease is the claim of one replica to be the one that sends. It saves events and nothing else: two triggers that both
// believe to lead do no harm, because the function fences each step.
type Lease struct {
	Client          coordination.LeasesGetter
	Namespace, Name string
	Identity        string
	// Duration is for how long the lease is good without renewal, Renew for how long renewing is tried, Retry the pause
	// between two tries.
	Duration, Renew, Retry time.Duration
}

// Lead waits for the lease, runs lead while it is held, and gives it back when ctx ends. It returns ErrLeaseLost if the
// lease was lost before, and the missing right if there is one.
func (l Lease) Lead(ctx context.Context, lead func(ctx context.Context)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	lost := false
	var leading sync.Mutex // held while lead runs
	lock := &watchfulLock{Interface: l.lock(), denied: func(err error) { stop(err) }}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: l.Duration, RenewDeadline: l.Renew, RetryPeriod: l.Retry,
		ReleaseOnCancel: true, Name: l.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				leading.Lock()
				defer leading.Unlock()
				lead(ctx)
			},
			OnStoppedLeading: func() { lost = ctx.Err() == nil },
		},
	})
	if err != nil {
		return fmt.Errorf("prepare leader election: %w", err)
	}
	elector.Run(ctx)
	leading.Lock() // until the requests under way are answered
	defer leading.Unlock()
	var denied deniedError
	switch {
	case errors.As(context.Cause(ctx), &denied):
		return denied.error
	case lost && lock.lastRefusal() != nil:
		return fmt.Errorf("%w: %w", ErrLeaseLost, lock.lastRefusal())
	case lost:
		return ErrLeaseLost
	}
	return nil
}

func (l Lease) lock() resourcelock.Interface {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
		Client:     l.Client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: l.Identity},
	}
}

type deniedError struct{ error }

// watchfulLock reports a missing right, which the elector would otherwise retry for ever. Once the lease was held, a
// refusal is left to the elector's own deadline: an API server that has just started refuses everybody for a moment.
type watchfulLock struct {
	resourcelock.Interface
	denied func(error)

	mu      sync.Mutex
	held    bool
	refusal error // of the last request
}

// Get reads the lease.
func (w *watchfulLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := w.Interface.Get(ctx)
	return record, raw, w.check(err, false)
}

// Create makes the lease.
func (w *watchfulLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.check(w.Interface.Create(ctx, record), true)
}

// Update claims, renews or gives back the lease.
func (w *watchfulLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.check(w.Interface.Update(ctx, record), true)
}

func (w *watchfulLock) check(err error, write bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = w.held || (write && err == nil)
	if w.refusal = deniedRight(err); w.refusal != nil && !w.held {
		w.denied(deniedError{w.refusal})
	}
	return err
}

func (w *watchfulLock) lastRefusal() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refusal
}
