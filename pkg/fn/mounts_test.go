package fn

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestCertificatesAreFoundThroughTheMounts(t *testing.T) {
	cert, key := pair(t, "etcd", noon.Add(time.Hour))
	data := map[string][]byte{"ca.crt": cert, "tls.crt": cert, "tls.key": key, "odd-ca": cert, "odd-cert": cert, "odd-key": key}
	items := []corev1.KeyToPath{{Key: "odd-ca", Path: "deep/ca.crt"}, {Key: "odd-cert", Path: "deep/tls.crt"}, {Key: "odd-key", Path: "deep/tls.key"}}
	mount := func(m corev1.VolumeMount) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			m.Name = "tls"
			s.Containers[0].VolumeMounts = []corev1.VolumeMount{m}
		}
	}
	volume := func(v corev1.VolumeSource, then func(*corev1.PodSpec)) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "tls", VolumeSource: v}}
			if then != nil {
				then(s)
			}
		}
	}
	secret := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "etcd-tls"}}
	mapped := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "etcd-tls", Items: items}}
	named := corev1.LocalObjectReference{Name: "etcd-tls"}
	for name, change := range map[string]func(*corev1.PodSpec){
		"secret":        func(*corev1.PodSpec) {},
		"items":         volume(mapped, mount(corev1.VolumeMount{MountPath: "/etc/etcd/tls", SubPath: "deep"})),
		"items, deeper": volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "etcd-tls", Items: []corev1.KeyToPath{{Key: "odd-ca", Path: "tls/ca.crt"}, {Key: "odd-cert", Path: "tls/tls.crt"}, {Key: "odd-key", Path: "tls/tls.key"}}}}, mount(corev1.VolumeMount{MountPath: "/etc/etcd/"})),
		"subPathExpr": volume(mapped, func(s *corev1.PodSpec) {
			s.Containers[0].Env = append(s.Containers[0].Env, corev1.EnvVar{Name: "D", Value: "deep"})
			mount(corev1.VolumeMount{MountPath: "/etc/etcd/tls", SubPathExpr: "$(D)"})(s)
		}),
		"projected": volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}, {Secret: &corev1.SecretProjection{LocalObjectReference: named}}}}}, nil),
		"projected, items before the rest": volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "etcd-tls"}}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "trust"}, Items: []corev1.KeyToPath{{Key: "bundle", Path: "ca.crt"}}}},
		}}}, nil),
		"one file by subPath": volume(secret, func(s *corev1.PodSpec) {
			s.Containers[0].VolumeMounts = []corev1.VolumeMount{
				{Name: "tls", MountPath: "/etc/etcd/tls/ca.crt", SubPath: "ca.crt"}, {Name: "tls", MountPath: "/etc/etcd/tls/tls.crt", SubPath: "tls.crt"}, {Name: "tls", MountPath: "/etc/etcd/tls/tls.key", SubPath: "tls.key"},
			}
		}),
	} {
		w := secureWorld(t)
		w.secrets["etcd-tls"].Data = data
		w.configs["trust"] = &corev1.ConfigMap{Data: map[string]string{"bundle": string(cert)}}
		change(&w.set.Spec.Template.Spec)
		c, problem, err := read(t, w, "")
		if problem != nil || err != nil || c.tls == nil || len(c.tls.Certificates) != 1 || c.tls.RootCAs == nil {
			t.Errorf("%s: %v, %v", name, problem, err)
			continue
		}
		if c.tls.InsecureSkipVerify {
			t.Errorf("%s: verification is switched off", name)
		}
		if n := w.count("get secret etcd-tls"); n != 1 {
			t.Errorf("%s: the Secret was read %d times", name, n)
		}
	}
}
