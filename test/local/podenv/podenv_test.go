package podenv

import (
	"context"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type one struct{}

func (one) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	if name != "cm" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
	}
	return &corev1.ConfigMap{Data: map[string]string{"A": "from-cm", "B": "b"}}, nil
}

func (one) Secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	if name != "s" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	return &corev1.Secret{Data: map[string][]byte{"password": []byte("hidden")}}, nil
}

var pod = &corev1.Pod{
	ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd-0", UID: "u-1",
		Labels: map[string]string{"app": "etcd", "a/b": "c"}, Annotations: map[string]string{"note": "it's"}},
	Spec: corev1.PodSpec{NodeName: "local-1", ServiceAccountName: "sa"},
}

var resolver = &Resolver{Objects: one{}, HostIP: "127.0.0.1", Base: map[string]string{"KUBERNETES_SERVICE_PORT": "6443"}}

func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func key(kind, name, key string, optional *bool) corev1.EnvVar {
	ref := corev1.LocalObjectReference{Name: name}
	if kind == "Secret" {
		return corev1.EnvVar{Name: "K", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref, Key: key, Optional: optional}}}
	}
	return corev1.EnvVar{Name: "K", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref, Key: key, Optional: optional}}}
}

func TestResolve(t *testing.T) {
	c := &corev1.Container{
		EnvFrom: []corev1.EnvFromSource{
			{Prefix: "CM_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}},
		},
		Env: []corev1.EnvVar{
			field("NAME", "metadata.name"), field("NS", "metadata.namespace"), field("UID", "metadata.uid"),
			field("IP", "status.podIP"), field("HOST", "status.hostIP"), field("NODE", "spec.nodeName"),
			field("SA", "spec.serviceAccountName"), field("APP", "metadata.labels['a/b']"), field("NOTE", "metadata.annotations['note']"),
			{Name: "URL", Value: "http://$(NAME).$(NS):$(KUBERNETES_SERVICE_PORT)/$(CM_A)"},
			{Name: "EARLY", Value: "$(LATE)"}, {Name: "LATE", Value: "late"},
			key("Secret", "s", "password", nil),
			{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
		},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}},
	}
	got, err := resolver.Resolve(t.Context(), pod, c, "127.16.0.1")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"KUBERNETES_SERVICE_PORT": "6443", "CM_A": "from-cm", "CM_B": "b", "password": "hidden",
		"NAME": "etcd-0", "NS": "ns", "UID": "u-1", "IP": "127.16.0.1", "HOST": "127.0.0.1", "NODE": "local-1", "SA": "sa",
		"APP": "c", "NOTE": "it's", "URL": "http://etcd-0.ns:6443/from-cm", "EARLY": "$(LATE)", "LATE": "late", "K": "hidden", "CPU": "2",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestMissingReferences(t *testing.T) {
	yes := true
	for _, c := range []struct {
		env  corev1.EnvVar
		want string // part of the error; empty: the variable is left out
	}{
		{key("ConfigMap", "absent", "A", nil), "not found"},
		{key("ConfigMap", "absent", "A", &yes), ""},
		{key("ConfigMap", "cm", "absent", nil), "couldn't find key absent in ConfigMap cm"},
		{key("Secret", "s", "absent", &yes), ""},
		{key("Secret", "absent", "x", nil), "not found"},
		{field("K", "status.unheardOf"), "not supported"},
	} {
		got, err := resolver.Resolve(t.Context(), pod, &corev1.Container{Env: []corev1.EnvVar{c.env}}, "")
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: err = %v, want %q", c.env, err, c.want)
			}
			continue
		}
		if _, set := got["K"]; err != nil || set {
			t.Errorf("%+v: %v, %v", c.env, got, err)
		}
	}
}

func TestMapIsSortedAndQuoted(t *testing.T) {
	if got := Map(map[string]string{"b": `say "hi"`, "a": "1"}); got != "a=\"1\"\nb=\"say \\\"hi\\\"\"" {
		t.Errorf("got %s", got)
	}
}
