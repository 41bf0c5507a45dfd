package eventing

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// Modules are the folders of the Knative modules in the module cache.
type Modules struct{ Eventing, Serving string }

// FindModules asks the module that pins them.
func FindModules(ctx context.Context) (Modules, error) {
	root, err := cluster.Root(ctx)
	if err != nil {
		return Modules{}, err
	}
	find := func(name string) (string, error) {
		cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", "knative.dev/"+name)
		cmd.Dir = filepath.Join(root, "test", "knative", "admission")
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("find knative.dev/%s: %w\n%s", name, err, out)
		}
		var found struct{ Dir string }
		if err := yaml.Unmarshal(out, &found); err != nil {
			return "", fmt.Errorf("find knative.dev/%s: %w", name, err)
		}
		return found.Dir, nil
	}
	var m Modules
	if m.Eventing, err = find("eventing"); err != nil {
		return m, err
	}
	m.Serving, err = find("serving")
	return m, err
}

const systemNamespace = "knative-eventing"

// apply puts Knative's own definitions and settings into the cluster, as they
// were released.
func apply(ctx context.Context, c *cluster.Cluster, m Modules) error {
	config := filepath.Join(m.Eventing, "config")
	files := []string{filepath.Join(config, "core", "100-namespace.yaml"), filepath.Join(m.Serving, "config", "core", "300-resources", "service.yaml")}
	for _, folder := range []string{"core/resources", "core/configmaps", "channels/in-memory-channel/resources", "channels/in-memory-channel/configmaps"} {
		found, err := filepath.Glob(filepath.Join(config, folder, "*.yaml"))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("no manifests in %s", folder)
		}
		files = append(files, found...)
	}
	if err := ApplyFiles(ctx, c, files, places); err != nil {
		return err
	}
	_, err := c.Kubectl(ctx, nil, "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
	return err
}

// applyWebhooks lets the API server ask the webhook, and waits until it does: the
// webhook writes its rules and its authority into the configurations itself.
func applyWebhooks(ctx context.Context, c *cluster.Cluster, m Modules) error {
	files, err := filepath.Glob(filepath.Join(m.Eventing, "config/core/webhooks/*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no webhooks in %s", m.Eventing)
	}
	if err := ApplyFiles(ctx, c, files, ""); err != nil {
		return err
	}
	for path, objects := range map[string][]string{
		".webhooks[0].clientConfig.caBundle": {"mutatingwebhookconfiguration/webhook.eventing.knative.dev",
			"validatingwebhookconfiguration/validation.webhook.eventing.knative.dev"},
		".spec.conversion.webhook.clientConfig.caBundle": {"crd/eventtypes.eventing.knative.dev"},
	} {
		if _, err := c.Kubectl(ctx, nil, append([]string{"wait", "--timeout=60s", "--for=jsonpath={" + path + "}"}, objects...)...); err != nil {
			return err
		}
	}
	return nil
}

// ApplyFiles applies manifests from files, and more.
func ApplyFiles(ctx context.Context, c *cluster.Cluster, files []string, more string) error {
	var all bytes.Buffer
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		all.WriteString("\n---\n")
		all.Write(text)
	}
	all.WriteString(more)
	_, err := c.Kubectl(ctx, all.Bytes(), "apply", "--server-side", "-f", "-")
	return err
}

// places are what the controllers look for before they call a broker or channel
// ready. The API server refuses loopback addresses in Endpoints, so these have
// one that nobody dials; the mesh knows the way.
const places = `
---
apiVersion: v1
kind: Service
metadata: {name: broker-ingress, namespace: knative-eventing}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: broker-filter, namespace: knative-eventing}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: imc-dispatcher, namespace: knative-eventing}
spec: {ports: [{name: http-dispatcher, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: eventing-webhook, namespace: knative-eventing}
spec: {ports: [{name: https-webhook, port: 443, targetPort: 8443}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: broker-ingress, namespace: knative-eventing}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{name: http, port: 80}]}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: broker-filter, namespace: knative-eventing}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{name: http, port: 80}]}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: imc-dispatcher, namespace: knative-eventing}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{name: http-dispatcher, port: 80}]}]
---
# Without replicas it is Available at once.
apiVersion: apps/v1
kind: Deployment
metadata: {name: imc-dispatcher, namespace: knative-eventing}
spec:
  replicas: 0
  selector: {matchLabels: {app: imc-dispatcher}}
  template:
    metadata: {labels: {app: imc-dispatcher}}
    spec: {containers: [{name: dispatcher, image: runs-outside}]}
`
