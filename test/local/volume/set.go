package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/test/local/sandbox"
)

// Claims finds the directory behind a PersistentVolumeClaim.
type Claims interface {
	Directory(ctx context.Context, pod *corev1.Pod, claim string) (string, error)
}

// Set is the volumes of one pod.
type Set struct {
	Dir     string // host directory of this pod's volumes
	PodIP   string
	Sources Sources
	Claims  Claims

	mu     sync.Mutex
	paths  map[string]string // volume -> host directory
	tokens map[string]heldToken
}

type heldToken struct {
	file     File
	audience string
	renew    time.Time
}

// Sync brings every volume up to date and returns when to come back for a token
// renewal (zero: not at all). It may be called again at any time.
func (s *Set) Sync(ctx context.Context, pod *corev1.Pod) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paths == nil {
		s.paths, s.tokens = map[string]string{}, map[string]heldToken{}
	}
	var renew time.Time
	var problems []error
	for _, v := range pod.Spec.Volumes {
		at, err := s.sync(ctx, pod, v)
		if err != nil {
			problems = append(problems, fmt.Errorf("MountVolume.SetUp failed for volume %q: %w", v.Name, err))
		}
		if !at.IsZero() && (renew.IsZero() || at.Before(renew)) {
			renew = at
		}
	}
	return renew, errors.Join(problems...)
}

func (s *Set) sync(ctx context.Context, pod *corev1.Pod, v corev1.Volume) (time.Time, error) {
	dir := filepath.Join(s.Dir, v.Name)
	g := &gather{Sources: s.Sources, pod: pod, podIP: s.PodIP, payload: Payload{}, kept: func(path, audience string) (Payload, time.Time) {
		return s.held(v.Name, path, audience)
	}}
	var err error
	switch {
	case v.EmptyDir != nil:
		s.paths[v.Name] = dir
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return time.Time{}, err
		}
		return time.Time{}, os.Chmod(dir, 0o777)
	case v.PersistentVolumeClaim != nil:
		s.paths[v.Name], err = s.Claims.Directory(ctx, pod, v.PersistentVolumeClaim.ClaimName)
		return time.Time{}, err
	case v.ConfigMap != nil:
		err = g.configMap(ctx, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.DefaultMode, v.ConfigMap.Optional)
	case v.Secret != nil:
		err = g.secret(ctx, v.Secret.SecretName, v.Secret.Items, v.Secret.DefaultMode, v.Secret.Optional)
	case v.DownwardAPI != nil:
		err = g.downward(v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
	case v.Projected != nil:
		err = g.projected(ctx, v.Projected)
	default:
		err = errors.New("this kind of volume is not supported by the local cluster")
	}
	if err != nil {
		return time.Time{}, err
	}
	s.paths[v.Name] = dir
	s.hold(v, g)
	_, err = Write(dir, g.payload)
	return g.renew, err
}

// held returns a token that need not be renewed yet.
func (s *Set) held(volume, path, audience string) (Payload, time.Time) {
	t, ok := s.tokens[volume+"/"+path]
	if !ok || t.audience != audience || time.Now().After(t.renew) {
		return nil, time.Time{}
	}
	return Payload{path: t.file}, t.renew
}

func (s *Set) hold(v corev1.Volume, g *gather) {
	if v.Projected == nil {
		return
	}
	for _, source := range v.Projected.Sources {
		if t := source.ServiceAccountToken; t != nil {
			s.tokens[v.Name+"/"+t.Path] = heldToken{file: g.payload[t.Path], audience: t.Audience, renew: g.renew}
		}
	}
}

// Mounts turns a container's volumeMounts into host paths. Sync must have
// succeeded before.
func (s *Set) Mounts(c *corev1.Container, expandPath func(string) string) ([]sandbox.Mount, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []sandbox.Mount
	for _, m := range c.VolumeMounts {
		source, known := s.paths[m.Name]
		if !known {
			return nil, fmt.Errorf("volume %q of mount %s is not there", m.Name, m.MountPath)
		}
		sub := m.SubPath
		if m.SubPathExpr != "" {
			sub = expandPath(m.SubPathExpr)
		}
		source, err := below(source, sub)
		if err != nil {
			return nil, err
		}
		out = append(out, sandbox.Mount{Source: source, Target: m.MountPath, ReadOnly: m.ReadOnly})
	}
	return out, nil
}

// below resolves a subPath inside a volume, creating a directory that is not there.
func below(volume, sub string) (string, error) {
	if sub == "" {
		return volume, nil
	}
	if !filepath.IsLocal(sub) {
		return "", fmt.Errorf("subPath %q leaves the volume", sub)
	}
	path := filepath.Join(volume, sub)
	if _, err := os.Stat(path); err == nil {
		return filepath.EvalSymlinks(path)
	}
	return path, os.MkdirAll(path, 0o755)
}

// RefersTo says whether a pod's volumes read this ConfigMap or Secret.
func RefersTo(pod *corev1.Pod, kind, name string) bool {
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap != nil && kind == configMapKind && v.ConfigMap.Name == name ||
			v.Secret != nil && kind == secretKind && v.Secret.SecretName == name {
			return true
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.ConfigMap != nil && kind == configMapKind && s.ConfigMap.Name == name ||
				s.Secret != nil && kind == secretKind && s.Secret.Name == name {
				return true
			}
		}
	}
	return false
}
