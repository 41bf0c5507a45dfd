package volume

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type objects struct {
	configMaps map[string]map[string]string
	secrets    map[string]map[string][]byte
}

func (o objects) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	data, ok := o.configMaps[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
	}
	return &corev1.ConfigMap{Data: data}, nil
}

func (o objects) Secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	data, ok := o.secrets[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	return &corev1.Secret{Data: data}, nil
}

type tokens struct{ issued int }

func (t *tokens) Token(_ context.Context, _ *corev1.Pod, audience string, lifetime time.Duration) (string, time.Time, error) {
	t.issued++
	return "token for " + audience, time.Now().Add(lifetime), nil
}

func projectedPod() *corev1.Pod {
	mode, optional, expiry := int32(0o400), true, int64(3600)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "etcd-0", Labels: map[string]string{"app": "etcd"}},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "ca"}}},
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "tls"},
					Items: []corev1.KeyToPath{{Key: "tls.key", Path: "private/key", Mode: &mode}}}},
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "absent"}, Optional: &optional}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
					{Path: "ip", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}},
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "sink", ExpirationSeconds: &expiry}},
			}}}}}},
	}
}

func TestProjectedVolume(t *testing.T) {
	dir, issuer := t.TempDir(), &tokens{}
	source := objects{
		configMaps: map[string]map[string]string{"ca": {"ca.crt": "CA"}},
		secrets:    map[string]map[string][]byte{"tls": {"tls.key": []byte("KEY"), "tls.crt": []byte("CRT")}},
	}
	set := &Set{Dir: dir, PodIP: "127.16.0.1", Sources: Sources{Objects: source, Tokens: issuer}}
	renew, err := set.Sync(t.Context(), projectedPod())
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"ca.crt": "CA", "private/key": "KEY", "labels": `app="etcd"`, "ip": "127.16.0.1", "token": "token for sink",
	} {
		if got := read(t, filepath.Join(dir, "all", file)); got != want {
			t.Errorf("%s = %q, want %q", file, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "all", "tls.crt")); err == nil {
		t.Error("a key that is not among the items is there")
	}
	if info, err := os.Stat(filepath.Join(dir, "all", "private/key")); err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("mode of the key: %v, %v", info.Mode(), err)
	}
	if left := time.Until(renew); left < 47*time.Minute || left > 48*time.Minute {
		t.Errorf("renewal in %s, want 80%% of an hour", left)
	}
	source.configMaps["ca"]["ca.crt"] = "CA2"
	if _, err := set.Sync(t.Context(), projectedPod()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "all", "ca.crt")); got != "CA2" {
		t.Errorf("after the update ca.crt = %q", got)
	}
	if issuer.issued != 1 {
		t.Errorf("%d tokens were issued, want the first to be kept", issuer.issued)
	}
}

func TestMissingSourcesFailUnlessOptional(t *testing.T) {
	optional := true
	pod := func(opt *bool, items ...corev1.KeyToPath) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: "s", Optional: opt, Items: items}}}}}}
	}
	item := corev1.KeyToPath{Key: "absent", Path: "x"}
	present := objects{secrets: map[string]map[string][]byte{"s": {"a": nil}}}
	for _, c := range []struct {
		name   string
		source objects
		pod    *corev1.Pod
		want   string // part of the error; empty: none
	}{
		{"missing secret", objects{}, pod(nil), `not found`},
		{"missing optional secret", objects{}, pod(&optional), ""},
		{"missing key", present, pod(nil, item), "non-existent config key: absent"},
		{"missing optional key", present, pod(&optional, item), ""},
	} {
		set := &Set{Dir: t.TempDir(), Sources: Sources{Objects: c.source}}
		_, err := set.Sync(t.Context(), c.pod)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: err = %v", c.name, err)
		}
	}
}

func TestMounts(t *testing.T) {
	dir := t.TempDir()
	set := &Set{Dir: dir}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}}
	if _, err := set.Sync(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	container := func(m corev1.VolumeMount) *corev1.Container {
		return &corev1.Container{VolumeMounts: []corev1.VolumeMount{m}}
	}
	mounts, err := set.Mounts(container(corev1.VolumeMount{Name: "e", MountPath: "/data", SubPathExpr: "$(POD)"}),
		func(s string) string { return strings.ReplaceAll(s, "$(POD)", "etcd-0") })
	if err != nil || len(mounts) != 1 || mounts[0].Source != filepath.Join(dir, "e", "etcd-0") || mounts[0].Target != "/data" {
		t.Errorf("mounts = %+v, %v", mounts, err)
	}
	same := func(s string) string { return s }
	if _, err := set.Mounts(container(corev1.VolumeMount{Name: "other", MountPath: "/x"}), same); err == nil {
		t.Error("a mount of an unknown volume was accepted")
	}
	if _, err := set.Mounts(container(corev1.VolumeMount{Name: "e", MountPath: "/x", SubPath: "../.."}), same); err == nil {
		t.Error("a subPath out of the volume was accepted")
	}
}
