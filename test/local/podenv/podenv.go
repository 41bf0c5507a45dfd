// Package podenv computes the environment of a container: literal values,
// downward API, ConfigMap and Secret keys, with $(NAME) expansion.
package podenv

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdroll/etcdroll/test/local/expand"
)

// Objects reads the objects that environments and volumes refer to.
type Objects interface {
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
}

// Resolver computes environments for the pods of one cluster.
type Resolver struct {
	Objects Objects
	HostIP  string
	// Base comes before everything else, as the kubelet's service variables do.
	Base map[string]string
}

// Resolve returns the container's environment. podIP is the pod's address,
// which is known before its status is written.
func (r *Resolver) Resolve(ctx context.Context, pod *corev1.Pod, c *corev1.Container, podIP string) (map[string]string, error) {
	env := map[string]string{}
	for k, v := range r.Base {
		env[k] = v
	}
	if err := r.fromSources(ctx, pod.Namespace, c.EnvFrom, env); err != nil {
		return nil, err
	}
	for _, e := range c.Env {
		value, found, err := r.value(ctx, pod, c, e, podIP, env)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", e.Name, err)
		}
		if found {
			env[e.Name] = value
		}
	}
	return env, nil
}

// List renders an environment as sorted NAME=value pairs.
func List(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out
}

func (r *Resolver) fromSources(ctx context.Context, namespace string, sources []corev1.EnvFromSource, env map[string]string) error {
	for _, source := range sources {
		switch {
		case source.ConfigMapRef != nil:
			cm, err := r.Objects.ConfigMap(ctx, namespace, source.ConfigMapRef.Name)
			if err := tolerate(err, source.ConfigMapRef.Optional); err != nil {
				return err
			}
			if cm != nil {
				for k, v := range cm.Data {
					env[source.Prefix+k] = v
				}
			}
		case source.SecretRef != nil:
			secret, err := r.Objects.Secret(ctx, namespace, source.SecretRef.Name)
			if err := tolerate(err, source.SecretRef.Optional); err != nil {
				return err
			}
			if secret != nil {
				for k, v := range secret.Data {
					env[source.Prefix+k] = string(v)
				}
			}
		}
	}
	return nil
}

func (r *Resolver) value(ctx context.Context, pod *corev1.Pod, c *corev1.Container, e corev1.EnvVar, podIP string, env map[string]string) (string, bool, error) {
	from := e.ValueFrom
	switch {
	case from == nil:
		return expand.String(e.Value, env), true, nil
	case from.FieldRef != nil:
		v, err := Field(pod, from.FieldRef.FieldPath, podIP, r.HostIP)
		return v, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		cm, err := r.Objects.ConfigMap(ctx, pod.Namespace, ref.Name)
		if err != nil || cm == nil {
			return "", false, tolerate(err, ref.Optional)
		}
		v, found := cm.Data[ref.Key]
		return v, found, missing(found, ref.Optional, "ConfigMap", ref.Name, ref.Key)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		secret, err := r.Objects.Secret(ctx, pod.Namespace, ref.Name)
		if err != nil || secret == nil {
			return "", false, tolerate(err, ref.Optional)
		}
		v, found := secret.Data[ref.Key]
		return string(v), found, missing(found, ref.Optional, "Secret", ref.Name, ref.Key)
	case from.ResourceFieldRef != nil:
		v, err := resourceField(c, from.ResourceFieldRef)
		return v, true, err
	default:
		return "", false, fmt.Errorf("this kind of valueFrom is not supported by the local cluster")
	}
}

// tolerate drops a not-found error of an optional reference.
func tolerate(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return err
}

func missing(found bool, optional *bool, kind, name, key string) error {
	if found || optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("couldn't find key %s in %s %s", key, kind, name)
}

// Field reads one downward API field.
func Field(pod *corev1.Pod, path, podIP, hostIP string) (string, error) {
	if key, ok := subscript(path, "metadata.labels"); ok {
		return pod.Labels[key], nil
	}
	if key, ok := subscript(path, "metadata.annotations"); ok {
		return pod.Annotations[key], nil
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return Map(pod.Labels), nil
	case "metadata.annotations":
		return Map(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return podIP, nil
	case "status.hostIP", "status.hostIPs":
		return hostIP, nil
	}
	return "", fmt.Errorf("field %q is not supported by the local cluster", path)
}

// Map renders labels or annotations as the downward API does.
func Map(m map[string]string) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		_, _ = fmt.Fprintf(&b, "%s=%s\n", k, strconv.Quote(m[k]))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func subscript(path, field string) (string, bool) {
	rest, ok := strings.CutPrefix(path, field+"['")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "']")
}

func resourceField(c *corev1.Container, ref *corev1.ResourceFieldSelector) (string, error) {
	list, name := c.Resources.Requests, strings.TrimPrefix(ref.Resource, "requests.")
	if rest, limits := strings.CutPrefix(ref.Resource, "limits."); limits {
		list, name = c.Resources.Limits, rest
	}
	q, set := list[corev1.ResourceName(name)]
	if !set {
		return "", fmt.Errorf("resource field %q is not set on the container", ref.Resource)
	}
	divisor := ref.Divisor.MilliValue()
	if divisor == 0 {
		divisor = 1000
	}
	return strconv.FormatInt((q.MilliValue()+divisor-1)/divisor, 10), nil
}
