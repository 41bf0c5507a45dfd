package agent

import (
	"context"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// objects reads ConfigMaps and Secrets from informers and asks the API server
// only for those the informers do not have (yet).
type objects struct {
	client     kubernetes.Interface
	configMaps corev1listers.ConfigMapLister
	secrets    corev1listers.SecretLister
	informers  map[string]cache.SharedIndexInformer // by kind
}

func newObjects(client kubernetes.Interface, shared informers.SharedInformerFactory) *objects {
	core := shared.Core().V1()
	_ = core.Services().Informer() // the pod controller wants it synced
	return &objects{
		client: client, configMaps: core.ConfigMaps().Lister(), secrets: core.Secrets().Lister(),
		informers: map[string]cache.SharedIndexInformer{
			"ConfigMap": core.ConfigMaps().Informer(), "Secret": core.Secrets().Informer(),
		},
	}
}

// ConfigMap implements podenv.Objects.
func (o *objects) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	cm, err := o.configMaps.ConfigMaps(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		cm, err = o.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, err
	}
	return cm, nil
}

// Secret implements podenv.Objects.
func (o *objects) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret, err := o.secrets.Secrets(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		secret, err = o.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, err
	}
	return secret, nil
}

// onChange calls back for every ConfigMap and Secret that is added, changed or deleted.
func (o *objects) onChange(call func(kind, namespace, name string)) error {
	for kind, informer := range o.informers {
		tell := func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			if meta, ok := obj.(metav1.Object); ok {
				call(kind, meta.GetNamespace(), meta.GetName())
			}
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: tell, UpdateFunc: func(_, now any) { tell(now) }, DeleteFunc: tell,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tokens asks the API server for ServiceAccount tokens bound to a pod.
type tokens struct{ client kubernetes.Interface }

// Token implements volume.Tokens.
func (t *tokens) Token(ctx context.Context, pod *corev1.Pod, audience string, lifetime time.Duration) (string, time.Time, error) {
	seconds := int64(lifetime / time.Second)
	request := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef:    &authv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	answer, err := t.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", time.Time{}, err
	}
	return answer.Status.Token, answer.Status.ExpirationTimestamp.Time, nil
}

// silent swallows the pod controller's own events.
type silent struct{}

func (silent) Event(kruntime.Object, string, string, string)          {}
func (silent) Eventf(kruntime.Object, string, string, string, ...any) {}
func (silent) AnnotatedEventf(kruntime.Object, map[string]string, string, string, string, ...any) {
}
