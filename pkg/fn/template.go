package fn

import (
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// defaultGrace is what Kubernetes gives a pod that does not say.
const defaultGrace = 30 * time.Second

// toTemplate tells of the pod template what can be known before any pod is
// touched.
func toTemplate(set *appsv1.StatefulSet) guard.Template {
	spec := &set.Spec.Template.Spec
	t := guard.Template{Grace: defaultGrace, RemovesMember: removesMember(spec)}
	if s := spec.TerminationGracePeriodSeconds; s != nil {
		t.Grace = time.Duration(*s) * time.Second
	}
	etcd, found := findEtcd(spec)
	if !found {
		return t
	}
	for name := range etcd.flags {
		t.Flags = append(t.Flags, name)
	}
	slices.Sort(t.Flags)
	t.Version = imageVersion(etcd.container.Image)
	t.QuotaBytes = quotaBytes(etcd)
	t.Data = storage(set, etcd)
	return t
}

// imageVersion is the version in an image's tag; "" for a digest, "latest",
// and whatever else is no full version.
func imageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, found := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	if v := guard.ParseVersion(tag); found && v.Known() {
		return v.String()
	}
	return ""
}

// quotaBytes is the quota the template sets; 0 when it sets none. etcd takes
// a negative quota as none at all.
func quotaBytes(etcd process) int64 {
	text, _ := etcd.setting("quota-backend-bytes")
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return 0
	case n < 0:
		return math.MaxInt64
	}
	return n
}

var memberRemove = regexp.MustCompile(`\bmember\s+remove\b`)

// removesMember says that a preStop hook takes the member out of the cluster,
// which turns each restart into a change of membership.
func removesMember(spec *corev1.PodSpec) bool {
	for _, c := range spec.Containers {
		if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Exec == nil {
			continue
		}
		if memberRemove.MatchString(strings.Join(c.Lifecycle.PreStop.Exec.Command, " ")) {
			return true
		}
	}
	return false
}

// storage says where etcd keeps its data. A write-ahead log elsewhere counts
// as well: without it the data directory is worth nothing.
func storage(set *appsv1.StatefulSet, etcd process) guard.Storage {
	kind := storageAt(set, etcd, dataDir(etcd))
	if wal, _ := etcd.setting("wal-dir"); wal != "" && kind == guard.Persistent {
		return storageAt(set, etcd, wal)
	}
	return kind
}

// dataDir is etcd's data directory, by default ${name}.etcd where it runs.
func dataDir(etcd process) string {
	if dir, _ := etcd.setting("data-dir"); dir != "" {
		return dir
	}
	name, _ := etcd.setting("name")
	if name == "" {
		name = "default"
	}
	return name + ".etcd"
}

// storageAt says what kind of volume holds a path of the etcd container.
// Where the image's own working directory decides, it is not known.
func storageAt(set *appsv1.StatefulSet, etcd process, file string) guard.Storage {
	if !path.IsAbs(file) {
		if etcd.container.WorkingDir == "" {
			return guard.StorageUnknown
		}
		file = path.Join(etcd.container.WorkingDir, file)
	}
	mount, _, found := mountOf(etcd.container, file)
	if !found {
		return guard.Ephemeral
	}
	claimed := slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool { return c.Name == mount.Name })
	volume := volumeNamed(&set.Spec.Template.Spec, mount.Name)
	switch {
	case claimed:
		return guard.Persistent
	case volume == nil:
		return guard.StorageUnknown
	case volume.PersistentVolumeClaim != nil:
		return guard.Persistent
	case volume.EmptyDir != nil, volume.Ephemeral != nil, volume.CSI != nil:
		return guard.Ephemeral
	}
	return guard.StorageUnknown
}

// mountOf finds the mount that a path of the container lies on, the deepest
// if several contain it, and the path relative to it.
func mountOf(c *corev1.Container, file string) (mount corev1.VolumeMount, rest string, found bool) {
	file = path.Clean(file)
	for _, m := range c.VolumeMounts {
		at := path.Clean(m.MountPath)
		inside := at == "/" || file == at || strings.HasPrefix(file, at+"/")
		if inside && (!found || len(at) > len(path.Clean(mount.MountPath))) {
			mount, found = m, true
			rest = strings.TrimPrefix(strings.TrimPrefix(file, at), "/")
		}
	}
	return mount, rest, found
}

func volumeNamed(spec *corev1.PodSpec, name string) *corev1.Volume {
	for i := range spec.Volumes {
		if spec.Volumes[i].Name == name {
			return &spec.Volumes[i]
		}
	}
	return nil
}
