package fn

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

func TestET26_TemplateTellsWhatCanBeKnownBeforehand(t *testing.T) {
	set := etcdSet(3)
	c := &set.Spec.Template.Spec.Containers[0]
	c.Args = append(c.Args, "--experimental-initial-corrupt-check", "-quota-backend-bytes", "8589934592")
	want := guard.Template{
		Data: guard.Persistent, Grace: 30 * time.Second, Version: "3.6.16", QuotaBytes: 8 << 30,
		Flags: []string{"data-dir", "experimental-initial-corrupt-check", "listen-client-urls", "quota-backend-bytes"},
	}
	if diff := cmp.Diff(want, toTemplate(set)); diff != "" {
		t.Error(diff)
	}
}

func TestET06_DataThatARestartLosesIsNotPersistent(t *testing.T) {
	volume := func(source corev1.VolumeSource) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates = nil
			s.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}}
		}
	}
	args := func(args ...string) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Args = args }
	}
	for name, c := range map[string]struct {
		change func(*appsv1.StatefulSet)
		want   guard.Storage
	}{
		"claim template":   {func(*appsv1.StatefulSet) {}, guard.Persistent},
		"named claim":      {volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}), guard.Persistent},
		"emptyDir":         {volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), guard.Ephemeral},
		"ephemeral claim":  {volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}), guard.Ephemeral},
		"host path":        {volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}), guard.StorageUnknown},
		"beside the mount": {args("--data-dir=/var/lib/etcd2"), guard.Ephemeral},
		"relative":         {args("--name=x"), guard.StorageUnknown},
		"relative to a working directory on the volume": {func(s *appsv1.StatefulSet) {
			args("--name=x")(s)
			s.Spec.Template.Spec.Containers[0].WorkingDir = "/var/lib/etcd"
		}, guard.Persistent},
		"log elsewhere": {args("--data-dir=/var/lib/etcd", "--wal-dir=/wal"), guard.Ephemeral},
		"from the environment": {func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Containers[0].Args = nil
			s.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "BASE", Value: "/var/lib"}, {Name: "ETCD_DATA_DIR", Value: "$(BASE)/etcd/data"}}
		}, guard.Persistent},
		"deepest mount wins": {func(s *appsv1.StatefulSet) {
			c := &s.Spec.Template.Spec.Containers[0]
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "scratch", MountPath: "/var/lib/etcd/data/"})
			s.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}, guard.Ephemeral},
		"no etcd to be found": {func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a"}, {Name: "b"}}
		}, guard.StorageUnknown},
	} {
		set := etcdSet(3)
		c.change(set)
		if got := toTemplate(set).Data; got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestVersionIsReadFromATagThatIsAFullVersion(t *testing.T) {
	for image, want := range map[string]string{
		"quay.io/coreos/etcd:v3.6.16":                "3.6.16",
		"registry.example:5000/etcd:3.5.21-0":        "3.5.21",
		"etcd:v3.7.3@sha256:abcd":                    "3.7.3",
		"etcd@sha256:abcd":                           "",
		"registry.example:5000/etcd":                 "",
		"etcd:latest":                                "",
		"etcd:3.6":                                   "",
		"docker.io/bitnami/etcd:3.6.16-debian-12-r0": "3.6.16",
	} {
		if got := imageVersion(image); got != want {
			t.Errorf("%s: got %q, want %q", image, got, want)
		}
	}
}

func TestPreStopThatRemovesTheMemberIsFound(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    bool
	}{
		{[]string{"etcdctl", "member", "remove", "$(ID)"}, true},
		{[]string{"/bin/sh", "-c", "etcdctl --endpoints x member  remove $id"}, true},
		{[]string{"sleep", "5"}, false},
		{[]string{"etcdctl", "member", "list"}, false},
	} {
		set := etcdSet(3)
		set.Spec.Template.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: c.command}}}
		if got := toTemplate(set).RemovesMember; got != c.want {
			t.Errorf("%v: got %t", c.command, got)
		}
	}
}

func TestQuotaSwitchedOffLeavesRoomForAnything(t *testing.T) {
	set := etcdSet(3)
	set.Spec.Template.Spec.Containers[0].Args = []string{"--quota-backend-bytes", "-1"}
	if got := toTemplate(set).QuotaBytes; got != math.MaxInt64 {
		t.Errorf("got %d", got)
	}
}

func TestET22_GraceIsTheServersDefaultWhenUnset(t *testing.T) {
	set := etcdSet(3)
	set.Spec.Template.Spec.TerminationGracePeriodSeconds = nil
	if got := toTemplate(set).Grace; got != 30*time.Second {
		t.Errorf("got %v", got)
	}
	set.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr(int64(0))
	if got := toTemplate(set).Grace; got != 0 {
		t.Errorf("zero is taken for %v", got)
	}
}
