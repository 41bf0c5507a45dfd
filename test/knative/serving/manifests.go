package serving

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/knative/eventing"
)

// QueueImage is the image that pods of functions get beside the function.
const QueueImage = "registry.local/knative-queue:v0.42.2"

// modules are the folders of the Knative modules in the module cache.
type modules struct{ serving, networking, caching string }

// findModules asks the module that the programs are built from.
func findModules(ctx context.Context) (m modules, err error) {
	root, err := cluster.Root(ctx)
	if err != nil {
		return m, err
	}
	for name, dir := range map[string]*string{"serving": &m.serving, "networking": &m.networking, "caching": &m.caching} {
		cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", "knative.dev/"+name)
		cmd.Dir, cmd.Env = filepath.Join(root, "test", "local", "binaries", "serving"), append(os.Environ(), "GOWORK=off")
		out, err := cmd.Output()
		if err != nil {
			return m, fmt.Errorf("find knative.dev/%s: %w\n%s", name, err, out)
		}
		var found struct{ Dir string }
		if err := json.Unmarshal(out, &found); err != nil {
			return m, fmt.Errorf("find knative.dev/%s: %w", name, err)
		}
		*dir = found.Dir
	}
	return m, nil
}

// apply puts Serving's definitions and settings into the cluster, as they were
// released. Two settings are ours, as they are of every installation: which image
// queue-proxy is, and which registries are not asked for digests.
func apply(ctx context.Context, c *cluster.Cluster, m modules) error {
	files := []string{filepath.Join(m.serving, "config/core/100-namespace.yaml"), filepath.Join(m.caching, "config/image.yaml")}
	for _, pattern := range []string{
		filepath.Join(m.serving, "config/core/300-resources/*.yaml"),
		filepath.Join(m.serving, "config/core/configmaps/*.yaml"),
		filepath.Join(m.networking, "config/*.yaml"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			return fmt.Errorf("no manifests match %s", pattern)
		}
		files = append(files, found...)
	}
	if err := eventing.ApplyFiles(ctx, c, files, places); err != nil {
		return err
	}
	settings := fmt.Sprintf(`{"data":{"queue-sidecar-image":%q,"registries-skipping-tag-resolving":"kind.local,ko.local,dev.local,index.docker.io"}}`, QueueImage)
	if _, err := c.Kubectl(ctx, nil, "-n", systemNamespace, "patch", "configmap", "config-deployment", "--type=merge", "-p", settings); err != nil {
		return err
	}
	_, err := c.Kubectl(ctx, nil, "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
	return err
}

// applyWebhooks lets the API server ask the webhook, and waits until it does: the
// webhook writes its rules and its authority into the configurations itself.
func applyWebhooks(ctx context.Context, c *cluster.Cluster, m modules) error {
	files, err := filepath.Glob(filepath.Join(m.serving, "config/core/webhooks/*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no webhooks in %s", m.serving)
	}
	if err := eventing.ApplyFiles(ctx, c, files, ""); err != nil {
		return err
	}
	_, err = c.Kubectl(ctx, nil, "wait", "--timeout=60s", "--for=jsonpath={.webhooks[0].clientConfig.caBundle}",
		"mutatingwebhookconfiguration/webhook.serving.knative.dev", "validatingwebhookconfiguration/validation.webhook.serving.knative.dev",
		"validatingwebhookconfiguration/config.webhook.serving.knative.dev")
	return err
}

// places are Knative's own Services. Nobody selects pods for them here; the
// activator's addresses are what the ingress and the controllers look for.
const places = `
---
apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: knative-serving}
spec: {ports: [{name: https-webhook, port: 443, targetPort: 8443}]}
---
apiVersion: v1
kind: Service
metadata: {name: autoscaler, namespace: knative-serving}
spec: {ports: [{name: http, port: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: activator-service, namespace: knative-serving}
spec: {ports: [{name: http, port: 80, targetPort: 8012}, {name: http2, port: 81, targetPort: 8013}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: activator-service, namespace: knative-serving}
subsets: [{addresses: [{ip: ` + activatorEndpoint + `}], ports: [{name: http, port: 8012}, {name: http2, port: 8013}]}]
`
