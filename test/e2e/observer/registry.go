package observer

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/etcdroll/etcdroll/test/e2e/access"
)

// Registry is the control plane's own etcd. A watch of it has no hole when the
// API server restarts, which forgets what it could have replayed.
type Registry struct{ client *clientv3.Client }

// OpenRegistry connects to the etcd behind an API server that stores its objects
// as protobuf under the default prefix, unencrypted.
func OpenRegistry(url string) (*Registry, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("open registry: %w", err)
	}
	return &Registry{client}, nil
}

// Close ends all that was started from here.
func (r *Registry) Close() { _ = r.client.Close() }

// Start is StartWith over the registry. It sees the pods of this namespace that
// are named NAME-ORDINAL.
func (r *Registry) Start(ctx context.Context, namespace, name string, members access.Access) (*Observer, error) {
	ctx, cancel := context.WithCancel(ctx)
	o := &Observer{namespace: namespace, name: name, members: members, changed: make(chan struct{}), cancel: cancel}
	sets, pods := "/registry/statefulsets/"+namespace+"/"+name, "/registry/pods/"+namespace+"/"+name+"-"
	for _, prefix := range []string{sets, pods} {
		if err := r.follow(ctx, o, prefix); err != nil {
			o.Stop()
			return nil, fmt.Errorf("observe %s: %w", prefix, err)
		}
	}
	if len(o.sets) == 0 {
		o.Stop()
		return nil, fmt.Errorf("observe: there is no set %s/%s", namespace, name)
	}
	for i := range o.Set().Replicas {
		o.wait.Go(func() { o.poll(ctx, i) })
	}
	return o, nil
}

// follow reads what is there and then everything that comes.
func (r *Registry) follow(ctx context.Context, o *Observer, prefix string) error {
	now, err := r.client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return err
	}
	for _, kv := range now.Kvs {
		o.seeStored(kv.Value, kv.ModRevision, false)
	}
	changes := r.client.Watch(clientv3.WithRequireLeader(ctx), prefix, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(now.Header.Revision+1))
	o.wait.Go(func() {
		for batch := range changes {
			for _, event := range batch.Events {
				o.seeEvent(event)
			}
		}
		if ctx.Err() == nil {
			o.fail(fmt.Errorf("the watch of %s ended: the history has a hole", prefix))
		}
	})
	return nil
}

func (o *Observer) seeEvent(event *clientv3.Event) {
	switch {
	case event.Type == mvccpb.PUT:
		o.seeStored(event.Kv.Value, event.Kv.ModRevision, false)
	case event.PrevKv != nil:
		o.seeStored(event.PrevKv.Value, event.Kv.ModRevision, true)
	}
}

func (o *Observer) seeStored(value []byte, revision int64, gone bool) {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(value, nil, nil)
	if err != nil {
		o.fail(fmt.Errorf("read the registry: %w", err))
		return
	}
	meta, ok := object.(metav1.Object)
	if !ok {
		return
	}
	meta.SetResourceVersion(strconv.FormatInt(revision, 10))
	switch stored := object.(type) {
	case *appsv1.StatefulSet:
		o.seeSet(stored, gone)
	case *corev1.Pod:
		o.seePod(stored, gone)
	}
}
