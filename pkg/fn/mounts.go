package fn

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// object is a Secret or ConfigMap and one key of it: what a file in the pod
// is made of.
type object struct {
	kind string // "Secret" or "ConfigMap"
	name string
	key  string
}

// String names the object and the key, as messages do.
func (o object) String() string { return fmt.Sprintf("%s %s key %s", o.kind, o.name, o.key) }

// sourceOf follows a path of the etcd container through its mounts to the
// object it comes from. The error says where the path ends instead.
func sourceOf(spec *corev1.PodSpec, etcd process, file string) (object, error) {
	mount, rest, found := mountOf(etcd.container, file)
	if !found || !path.IsAbs(file) {
		return object{}, fmt.Errorf("lies on no volume of container %s", etcd.container.Name)
	}
	sub := mount.SubPath
	if mount.SubPathExpr != "" {
		sub = expand(mount.SubPathExpr, etcd.env)
	}
	inVolume := strings.Trim(path.Join(sub, rest), "/")
	volume := volumeNamed(spec, mount.Name)
	if volume == nil {
		return object{}, fmt.Errorf("lies on volume %s, which is no Secret", mount.Name)
	}
	for _, p := range projections(volume) {
		if key, has := keyOf(p.items, inVolume); has {
			return object{p.kind, p.name, key}, nil
		}
	}
	return object{}, fmt.Errorf("lies on volume %s, which has no Secret for %s", mount.Name, inVolume)
}

// projection is one object that a volume is made of.
type projection struct {
	kind, name string
	items      []corev1.KeyToPath
}

// projections lists the objects of a volume. A projection with items is more
// specific and comes first: one without may have any key.
func projections(v *corev1.Volume) []projection {
	switch {
	case v.Secret != nil:
		return []projection{{"Secret", v.Secret.SecretName, v.Secret.Items}}
	case v.ConfigMap != nil:
		return []projection{{"ConfigMap", v.ConfigMap.Name, v.ConfigMap.Items}}
	case v.Projected == nil:
		return nil
	}
	var all []projection
	for _, s := range v.Projected.Sources {
		switch {
		case s.Secret != nil:
			all = append(all, projection{"Secret", s.Secret.Name, s.Secret.Items})
		case s.ConfigMap != nil:
			all = append(all, projection{"ConfigMap", s.ConfigMap.Name, s.ConfigMap.Items})
		}
	}
	slices.SortStableFunc(all, func(a, b projection) int { return sortItemsFirst(a) - sortItemsFirst(b) })
	return all
}

func sortItemsFirst(p projection) int {
	if len(p.items) > 0 {
		return 0
	}
	return 1
}

// keyOf finds the key whose file has this path within the volume.
func keyOf(items []corev1.KeyToPath, file string) (string, bool) {
	if len(items) == 0 {
		return file, file != "" && !strings.Contains(file, "/")
	}
	i := slices.IndexFunc(items, func(k corev1.KeyToPath) bool { return path.Clean(k.Path) == file })
	if i < 0 {
		return "", false
	}
	return items[i].Key, true
}
