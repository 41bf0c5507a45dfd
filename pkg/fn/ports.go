package fn

import (
	"context"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
)

// API is what the function needs of the Kubernetes API server. Every read is
// live; errors are those of k8s.io/apimachinery/pkg/api/errors where the
// server answered, and anything else where it is not known to have.
type API interface {
	// Set also gives the server's clock at the time of the answer; the zero
	// time when it did not tell.
	Set(ctx context.Context, namespace, name string) (*appsv1.StatefulSet, time.Time, error)
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	Budgets(ctx context.Context, namespace string) ([]policyv1.PodDisruptionBudget, error)
	MayDeletePods(ctx context.Context, namespace string) (bool, error)

	PatchSet(ctx context.Context, namespace, name string, patch Patch) error
	DeletePod(ctx context.Context, namespace, name string, only PodIdentity) error
	RecordEvent(ctx context.Context, e *eventsv1.Event) error
}

// Patch is the body of a write and what it is made of.
type Patch struct {
	Type types.PatchType
	Body []byte
}

// PodIdentity is the precondition of a delete: this pod, as it was observed.
type PodIdentity struct {
	UID             string
	ResourceVersion string
}

// Members is what the function needs of etcd. etcdprobe.Prober has it.
type Members interface {
	Probe(ctx context.Context, endpoints []etcdprobe.Endpoint, who etcdprobe.Credentials) etcdprobe.Reading
	MoveLeader(ctx context.Context, leader etcdprobe.Endpoint, who etcdprobe.Credentials, to guard.ID) error
	Leads(ctx context.Context, e etcdprobe.Endpoint, who etcdprobe.Credentials) guard.Answer
}

// Sender posts an event to the sink. events.Sender has it.
type Sender interface {
	Send(ctx context.Context, e event.Event, wantReply bool) (events.Answer, error)
}

// Clock tells the local time. It paces the function; the times in the record
// come from the API server.
type Clock func() time.Time

// Checkpoint is called around each effect, so that a test can end the process
// there. It is nil in the product.
type Checkpoint func(name string)

// The names of the checkpoints.
const (
	BeforeWrite  = "before-write"
	AfterWrite   = "after-write"
	BeforeEffect = "before-effect"
	AfterEffect  = "after-effect"
)

func (c Checkpoint) reach(name string) {
	if c != nil {
		c(name)
	}
}
