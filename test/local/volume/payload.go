package volume

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdroll/etcdroll/test/local/podenv"
)

// Tokens issues ServiceAccount tokens bound to a pod.
type Tokens interface {
	Token(ctx context.Context, pod *corev1.Pod, audience string, lifetime time.Duration) (token string, expires time.Time, err error)
}

// Sources is all that volumes are filled from.
type Sources struct {
	Objects podenv.Objects
	Tokens  Tokens
	HostIP  string
}

// gather collects the files of one volume. renew is when a token in it must be
// replaced; zero means never.
type gather struct {
	Sources
	pod     *corev1.Pod
	podIP   string
	payload Payload
	renew   time.Time
	kept    func(path, audience string) (Payload, time.Time) // tokens still good
}

const (
	defaultMode    = 0o644
	defaultExpiry  = time.Hour
	configMapKind  = "ConfigMap"
	secretKind     = "Secret"
	fieldNotExists = "references non-existent config key: %s"
)

func (g *gather) configMap(ctx context.Context, name string, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	cm, err := g.Objects.ConfigMap(ctx, g.pod.Namespace, name)
	if err != nil {
		return ifRequired(err, optional)
	}
	data := map[string][]byte{}
	for k, v := range cm.Data {
		data[k] = []byte(v)
	}
	for k, v := range cm.BinaryData {
		data[k] = v
	}
	return g.add(data, items, mode, optional)
}

func (g *gather) secret(ctx context.Context, name string, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	secret, err := g.Objects.Secret(ctx, g.pod.Namespace, name)
	if err != nil {
		return ifRequired(err, optional)
	}
	return g.add(secret.Data, items, mode, optional)
}

// add puts all keys, or only the listed items, into the payload.
func (g *gather) add(data map[string][]byte, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	if len(items) == 0 {
		for k, v := range data {
			g.payload[k] = File{Data: v, Mode: fileMode(nil, mode)}
		}
		return nil
	}
	for _, item := range items {
		v, found := data[item.Key]
		if !found {
			if optional != nil && *optional {
				continue
			}
			return fmt.Errorf(fieldNotExists, item.Key)
		}
		g.payload[item.Path] = File{Data: v, Mode: fileMode(item.Mode, mode)}
	}
	return nil
}

func (g *gather) downward(items []corev1.DownwardAPIVolumeFile, mode *int32) error {
	for _, item := range items {
		if item.FieldRef == nil {
			return fmt.Errorf("downward API file %s: only fieldRef is supported by the local cluster", item.Path)
		}
		value, err := podenv.Field(g.pod, item.FieldRef.FieldPath, g.podIP, g.HostIP)
		if err != nil {
			return err
		}
		g.payload[item.Path] = File{Data: []byte(value), Mode: fileMode(item.Mode, mode)}
	}
	return nil
}

func (g *gather) token(ctx context.Context, t *corev1.ServiceAccountTokenProjection, mode *int32) error {
	if old, renew := g.kept(t.Path, t.Audience); old != nil {
		g.payload[t.Path] = old[t.Path]
		g.renewBy(renew)
		return nil
	}
	lifetime := defaultExpiry
	if t.ExpirationSeconds != nil {
		lifetime = time.Duration(*t.ExpirationSeconds) * time.Second
	}
	token, expires, err := g.Tokens.Token(ctx, g.pod, t.Audience, lifetime)
	if err != nil {
		return fmt.Errorf("requesting a token for ServiceAccount %s: %w", g.pod.Spec.ServiceAccountName, err)
	}
	g.payload[t.Path] = File{Data: []byte(token), Mode: fileMode(nil, mode)}
	// As the kubelet: replaced after 80 % of its life.
	g.renewBy(time.Now().Add(time.Until(expires) * 8 / 10))
	return nil
}

func (g *gather) renewBy(at time.Time) {
	if g.renew.IsZero() || at.Before(g.renew) {
		g.renew = at
	}
}

func (g *gather) projected(ctx context.Context, p *corev1.ProjectedVolumeSource) error {
	for _, s := range p.Sources {
		var err error
		switch {
		case s.ConfigMap != nil:
			err = g.configMap(ctx, s.ConfigMap.Name, s.ConfigMap.Items, p.DefaultMode, s.ConfigMap.Optional)
		case s.Secret != nil:
			err = g.secret(ctx, s.Secret.Name, s.Secret.Items, p.DefaultMode, s.Secret.Optional)
		case s.DownwardAPI != nil:
			err = g.downward(s.DownwardAPI.Items, p.DefaultMode)
		case s.ServiceAccountToken != nil:
			err = g.token(ctx, s.ServiceAccountToken, p.DefaultMode)
		default:
			err = fmt.Errorf("this kind of projection is not supported by the local cluster")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ifRequired(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return err
}

func fileMode(item, volume *int32) os.FileMode {
	switch {
	case item != nil:
		return os.FileMode(*item) & os.ModePerm
	case volume != nil:
		return os.FileMode(*volume) & os.ModePerm
	default:
		return defaultMode
	}
}
