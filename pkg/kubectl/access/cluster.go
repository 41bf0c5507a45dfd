package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/fn/apiserver"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/kubectl/reach"
)

// Cluster is a cluster as the commands use it.
type Cluster struct {
	Namespace string // of the command line or the context
	Client    kubernetes.Interface
	API       fn.API                        // reads as the function does; refuses to write
	Members   func(guard.Limits) fn.Members // asks members over the way of --via
	Clock     func() time.Time
	Host      string
}

// FieldManager is the owner of what the plugin writes. It is not the
// function's: that one gives its claims up after a roll.
const FieldManager = "kubectl-etcdroll"

// open connects to the cluster of a configuration.
func open(config *rest.Config, namespace string, via reach.Via) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // a person's command is not a storm
	config.UserAgent = FieldManager
	config.WarningHandler = rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	api, err := apiserver.New(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Namespace: namespace, Client: client, API: ReadOnly(api), Clock: time.Now, Host: config.Host,
		Members: reach.New(config, client, via, namespace).Members,
	}, nil
}

// Read connects and reads a managed set by itself: what it says of the roll,
// without its pods and members.
func (a *Access) Read(ctx context.Context, name string) (*Cluster, *appsv1.StatefulSet, roll.Observed, error) {
	cluster, err := a.Connect()
	if err != nil {
		return nil, nil, roll.Observed{}, err
	}
	set, err := cluster.ManagedSet(ctx, name)
	if err != nil {
		return nil, nil, roll.Observed{}, err
	}
	return cluster, set, fn.Read(set, nil, cluster.Clock()), nil
}

// Observer observes as the function does.
func (c *Cluster) Observer() *fn.Observer {
	return &fn.Observer{API: c.API, Members: c.Members, Clock: c.Clock, Log: slog.New(slog.DiscardHandler)}
}

// Set reads a set, from the API server's store and not from its cache.
func (c *Cluster) Set(ctx context.Context, name string) (*appsv1.StatefulSet, error) {
	set, err := c.Client.AppsV1().StatefulSets(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	return set, Remedied(fmt.Sprintf("get statefulset %s/%s", c.Namespace, name), err)
}

// ManagedSet reads a set and refuses one that is not opted in.
func (c *Cluster) ManagedSet(ctx context.Context, name string) (*appsv1.StatefulSet, error) {
	set, err := c.Set(ctx, name)
	if err == nil && set.Labels[events.LabelManaged] != "true" {
		err = fmt.Errorf("statefulset %s/%s: label %s is %q: %w: run kubectl etcdroll adopt %s -n %s", c.Namespace, name,
			events.LabelManaged, set.Labels[events.LabelManaged], ErrUnmanaged, name, c.Namespace)
	}
	if err != nil {
		return nil, err
	}
	return set, nil
}

// ErrUnmanaged is in the error about a set that is not opted in.
var ErrUnmanaged = errors.New("not managed")

// readOnly passes reads on and refuses everything else.
type readOnly struct{ fn.API }

// ReadOnly is the API without its writes, so that whoever observes with it
// cannot change anything.
func ReadOnly(api fn.API) fn.API { return readOnly{api} }

var errReadOnly = errors.New("this command only reads")

// PatchSet refuses.
func (readOnly) PatchSet(context.Context, string, string, fn.Patch) error { return errReadOnly }

// DeletePod refuses.
func (readOnly) DeletePod(context.Context, string, string, fn.PodIdentity) error { return errReadOnly }

// RecordEvent refuses.
func (readOnly) RecordEvent(context.Context, *eventsv1.Event) error { return errReadOnly }

// Annotate changes annotations of the set; nil removes one. It needs no fence:
// what is written means the same whatever else has changed.
func (c *Cluster) Annotate(ctx context.Context, set *appsv1.StatefulSet, annotations map[string]any) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	_, err = c.Client.AppsV1().StatefulSets(set.Namespace).Patch(ctx, set.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: FieldManager})
	return Remedied(fmt.Sprintf("patch statefulset %s/%s", set.Namespace, set.Name), err)
}
