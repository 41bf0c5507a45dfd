package agent

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/log"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/etcdroll/etcdroll/test/local/service"
)

// services keeps the proxy and the containers' host files in step with the
// cluster's Services and this agent's pods.
type services struct {
	lister corev1listers.ServiceLister
	proxy  *service.Proxy
	kicked chan struct{}

	mu    sync.Mutex
	table service.Table
}

func newServices(shared informers.SharedInformerFactory) (*services, error) {
	s := &services{lister: shared.Core().V1().Services().Lister(), proxy: service.NewProxy(), kicked: make(chan struct{}, 1)}
	_, err := shared.Core().V1().Services().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { s.kick() }, UpdateFunc: func(any, any) { s.kick() }, DeleteFunc: func(any) { s.kick() },
	})
	return s, err
}

func (s *services) kick() {
	select {
	case s.kicked <- struct{}{}:
	default:
	}
}

func (s *services) hosts(namespace string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.Hosts(namespace)
}

// run follows changes until the context ends. A failed listener is tried again,
// since its address may have been taken for a moment.
func (s *services) run(ctx context.Context, r *runtime) {
	var again <-chan time.Time
	for {
		select {
		case <-s.kicked:
		case <-again:
		case <-ctx.Done():
			_ = s.proxy.Set(nil)
			return
		}
		again = nil
		if err := s.sync(r); err != nil {
			log.G(ctx).WithError(err).Warn("a Service does not work")
			again = time.After(5 * time.Second)
		}
	}
}

func (s *services) sync(r *runtime) error {
	known, err := s.lister.List(labels.Everything())
	if err != nil {
		return err
	}
	var pods []*corev1.Pod
	workers := r.all()
	for _, w := range workers {
		p := w.Pod()
		if w.Stopping() { // the worker's copy has no deletion time
			now := p.CreationTimestamp
			p.DeletionTimestamp = &now
		}
		pods = append(pods, p)
	}
	table := service.Compute(known, pods)
	s.mu.Lock()
	changed := !reflect.DeepEqual(table, s.table)
	s.table = table
	s.mu.Unlock()
	if changed {
		for _, w := range workers {
			w.RefreshHosts()
		}
	}
	return s.proxy.Set(table.Routes)
}
