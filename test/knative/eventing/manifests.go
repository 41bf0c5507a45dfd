package eventing

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

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
// were released but for what needs its webhooks: no webhook configuration is
// applied, and EventTypes are stored as config/ writes them.
func apply(ctx context.Context, c *cluster.Cluster, m Modules) error {
	config := filepath.Join(m.Eventing, "config")
	eventTypes, err := unconverted(filepath.Join(config, "core", "resources", "eventtype.yaml"), "v1beta3")
	if err != nil {
		return err
	}
	var all bytes.Buffer
	files := []string{filepath.Join(config, "core", "100-namespace.yaml"), filepath.Join(m.Serving, "config", "core", "300-resources", "service.yaml")}
	for _, folder := range []string{"core/resources", "core/configmaps", "channels/in-memory-channel/resources", "channels/in-memory-channel/configmaps"} {
		found, err := filepath.Glob(filepath.Join(config, folder, "*.yaml"))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("no manifests in %s", folder)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.HasSuffix(file, "/eventtype.yaml") {
			text = eventTypes
		}
		all.WriteString("\n---\n")
		all.Write(text)
	}
	all.WriteString(places)
	if _, err := c.Kubectl(ctx, all.Bytes(), "apply", "--server-side", "-f", "-"); err != nil {
		return err
	}
	_, err = c.Kubectl(ctx, nil, "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
	return err
}

// unconverted makes a definition whose versions differ in name only, with the
// given one stored.
func unconverted(file, stored string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	found := false
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok {
			continue
		}
		version["storage"] = version["name"] == stored
		found = found || version["name"] == stored
	}
	if !found {
		return nil, fmt.Errorf("%s has no version %s", file, stored)
	}
	delete(spec, "conversion")
	return yaml.Marshal(crd)
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
