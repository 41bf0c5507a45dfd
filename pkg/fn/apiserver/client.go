// Package apiserver is the function's client of the Kubernetes API server. It
// knows five API groups and no cache, and sends every change exactly once.
package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn"
)

// readTime bounds one read.
const readTime = 5 * time.Second

// Client implements fn.API.
type Client struct {
	apps, core, policy, events, authorization rest.Interface
}

var _ fn.API = (*Client)(nil)

// New prepares a client; it connects with the first call.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's own fairness paces us
	config.WarningHandler = rest.NoWarnings{}
	config.UserAgent = "etcdroll-roll-fn"
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON // half the work, there and here
	config.Wrap(rememberDate)
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	codecs, err := codecs()
	if err != nil {
		return nil, err
	}
	c := &Client{}
	for _, g := range []struct {
		version schema.GroupVersion
		to      *rest.Interface
	}{
		{appsv1.SchemeGroupVersion, &c.apps},
		{corev1.SchemeGroupVersion, &c.core},
		{policyv1.SchemeGroupVersion, &c.policy},
		{eventsv1.SchemeGroupVersion, &c.events},
		{authorizationv1.SchemeGroupVersion, &c.authorization},
	} {
		if *g.to, err = clientFor(config, g.version, codecs, connection); err != nil {
			return nil, fmt.Errorf("API server client for %s: %w", g.version, err)
		}
	}
	return c, nil
}

func codecs() (serializer.CodecFactory, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme, eventsv1.AddToScheme, authorizationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return serializer.CodecFactory{}, fmt.Errorf("register API types: %w", err)
		}
	}
	return serializer.NewCodecFactory(scheme), nil
}

func clientFor(config *rest.Config, version schema.GroupVersion, codecs serializer.CodecFactory, connection *http.Client) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &version
	config.APIPath = "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = codecs.WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, connection)
}

// Set reads a StatefulSet and the server's clock.
func (c *Client) Set(ctx context.Context, namespace, name string) (*appsv1.StatefulSet, time.Time, error) {
	var date time.Time
	set, err := get[appsv1.StatefulSet](withDate(ctx, &date), c.apps, "statefulsets", namespace, name)
	return set, date, err
}

// Pod reads a pod.
func (c *Client) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return get[corev1.Pod](ctx, c.core, "pods", namespace, name)
}

// ConfigMap reads a ConfigMap.
func (c *Client) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return get[corev1.ConfigMap](ctx, c.core, "configmaps", namespace, name)
}

// Secret reads a Secret.
func (c *Client) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return get[corev1.Secret](ctx, c.core, "secrets", namespace, name)
}

// get reads one object by name. Without a resourceVersion the API server
// answers from etcd and not from its cache.
func get[T any, P interface {
	*T
	runtime.Object
}](ctx context.Context, client rest.Interface, resource, namespace, name string) (P, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	object := P(new(T))
	if err := client.Get().Namespace(namespace).Resource(resource).Name(name).Do(ctx).Into(object); err != nil {
		return nil, denied(err, "get", resource, namespace)
	}
	return object, nil
}

// Budgets lists the PodDisruptionBudgets of a namespace.
func (c *Client) Budgets(ctx context.Context, namespace string) ([]policyv1.PodDisruptionBudget, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	var list policyv1.PodDisruptionBudgetList
	err := c.policy.Get().Namespace(namespace).Resource("poddisruptionbudgets").Do(ctx).Into(&list)
	return list.Items, denied(err, "list", "poddisruptionbudgets", namespace)
}

// MayDeletePods asks the API server about our own right.
func (c *Client) MayDeletePods(ctx context.Context, namespace string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "delete", Resource: "pods"},
	}}
	err := c.authorization.Post().Resource("selfsubjectaccessreviews").Body(review).Do(ctx).Into(review)
	return review.Status.Allowed, err
}

// PatchSet sends a patch once. A retry by the client could repeat a write
// that has arrived.
func (c *Client) PatchSet(ctx context.Context, namespace, name string, patch fn.Patch) error {
	err := c.apps.Patch(patch.Type).Namespace(namespace).Resource("statefulsets").Name(name).
		Param("fieldManager", events.FieldManager).MaxRetries(0).Body(patch.Body).Do(ctx).Error()
	return denied(err, "patch", "statefulsets", namespace)
}

// DeletePod deletes the very pod, in its own grace period.
func (c *Client) DeletePod(ctx context.Context, namespace, name string, only fn.PodIdentity) error {
	uid := types.UID(only.UID)
	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &only.ResourceVersion}}
	err := c.core.Delete().Namespace(namespace).Resource("pods").Name(name).MaxRetries(0).Body(options).Do(ctx).Error()
	return denied(err, "delete", "pods", namespace)
}

// RecordEvent writes an Event.
func (c *Client) RecordEvent(ctx context.Context, e *eventsv1.Event) error {
	err := c.events.Post().Namespace(e.Namespace).Resource("events").MaxRetries(0).Body(e).Do(ctx).Error()
	return denied(err, "create", "events", e.Namespace)
}

// Reach asks for the server's version, which needs no right of ours. Any
// answer but a failure of the server's own counts as reached.
func (c *Client) Reach(ctx context.Context) error {
	var code int
	err := c.core.Get().AbsPath("/version").MaxRetries(0).Do(ctx).StatusCode(&code).Error()
	if code >= 200 && code < 500 && code != http.StatusUnauthorized {
		return nil
	}
	return err
}
