package trigger

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func lease(t *testing.T, api *apiServer, who string) Lease {
	t.Helper()
	c, err := connect(Options{Kubeconfig: api.kubeconfig(t)})
	if err != nil {
		t.Fatal(err)
	}
	return Lease{
		Client: c.coordination, Namespace: "prod", Name: "etcdroll-trigger", Identity: who,
		Duration: 1500 * time.Millisecond, Renew: time.Second, Retry: 100 * time.Millisecond,
	}
}

func TestOnlyOneReplicaSendsAndTheOtherTakesOver(t *testing.T) {
	api := newAPIServer(t)
	first, second := make(chan struct{}), make(chan struct{})
	ctx, stopFirst := context.WithCancel(t.Context())
	endedFirst := make(chan error, 1)
	go func() {
		endedFirst <- lease(t, api, "one").Lead(ctx, func(ctx context.Context) { close(first); <-ctx.Done() })
	}()
	<-first
	ctx2, stopSecond := context.WithCancel(t.Context())
	endedSecond := make(chan error, 1)
	go func() {
		endedSecond <- lease(t, api, "two").Lead(ctx2, func(ctx context.Context) { close(second); <-ctx.Done() })
	}()
	select {
	case <-second:
		t.Fatal("both lead")
	case <-time.After(300 * time.Millisecond):
	}
	stopFirst()
	if err := wait(t, endedFirst); err != nil {
		t.Errorf("the first ended with %v", err)
	}
	eventually(t, "the second leads", func() bool {
		select {
		case <-second:
			return true
		default:
			return false
		}
	})
	stopSecond()
	if err := wait(t, endedSecond); err != nil {
		t.Errorf("the second ended with %v", err)
	}
}

func TestCG09_LostLeaseEndsTheProcess(t *testing.T) {
	api := newAPIServer(t)
	stopped := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- lease(t, api, "one").Lead(t.Context(), func(ctx context.Context) { <-ctx.Done(); close(stopped) })
	}()
	eventually(t, "the lease is held", func() bool { api.mu.Lock(); defer api.mu.Unlock(); return api.lease != nil })
	api.mu.Lock()
	stolen := api.lease.DeepCopy()
	stolen.Spec.HolderIdentity, stolen.Spec.RenewTime = ptr("two"), ptr(metav1.NowMicro())
	stolen.Spec.LeaseDurationSeconds, stolen.ResourceVersion = ptr(int32(3600)), "stolen"
	api.lease = stolen
	api.mu.Unlock()
	if err := wait(t, ended); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("ended with %v", err)
	}
	<-stopped
}
