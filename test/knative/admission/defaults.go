package admission

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	eventingconfig "knative.dev/eventing/pkg/apis/config"
	"knative.dev/eventing/pkg/apis/feature"
	servingconfig "knative.dev/serving/pkg/apis/config"
	asconfig "knative.dev/serving/pkg/autoscaler/config"
	"sigs.k8s.io/yaml"
)

// released carries the settings of a Knative that was installed as released and
// never touched. The folders are those of the two modules.
func released(ctx context.Context, eventing, serving string) (context.Context, error) {
	e, s := filepath.Join(eventing, "config", "core", "configmaps"), filepath.Join(serving, "config", "core", "configmaps")
	brokers, err := read(e, "default-broker.yaml", eventingconfig.NewDefaultsConfigFromConfigMap)
	if err != nil {
		return nil, err
	}
	flags, err := read(e, "features.yaml", feature.NewFlagsConfigFromConfigMap)
	if err != nil {
		return nil, err
	}
	c := &servingconfig.Config{}
	if c.Defaults, err = read(s, "defaults.yaml", servingconfig.NewDefaultsConfigFromConfigMap); err != nil {
		return nil, err
	}
	if c.Features, err = read(s, "features.yaml", servingconfig.NewFeaturesConfigFromConfigMap); err != nil {
		return nil, err
	}
	if c.Autoscaler, err = read(s, "autoscaler.yaml", asconfig.NewConfigFromConfigMap); err != nil {
		return nil, err
	}
	ctx = eventingconfig.ToContext(ctx, &eventingconfig.Config{Defaults: brokers})
	return servingconfig.ToContext(feature.ToContext(ctx, flags), c), nil
}

func read[T any](folder, file string, parse func(*corev1.ConfigMap) (T, error)) (settings T, err error) {
	raw, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return settings, err
	}
	var m corev1.ConfigMap
	if err := yaml.Unmarshal(raw, &m); err != nil {
		return settings, fmt.Errorf("%s: %w", file, err)
	}
	delete(m.Data, "_example") // documentation
	settings, err = parse(&m)
	if err != nil {
		return settings, fmt.Errorf("%s: %w", file, err)
	}
	return settings, nil
}
