// Package overlay renders and applies the folders of config/ the way their
// users do: by a kustomization of one's own, and by kubectl.
package overlay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// Overlay is a kustomization on top of config/.
type Overlay struct {
	Namespace  string
	Resources  []string // folders of config/, such as "rbac"
	Components []string // folders of config/components, such as "pod-delete"
	Patches    []Patch
	// Literals are ConfigMaps to generate, by name.
	Literals map[string][]string
}

// Patch changes the objects that its target selects.
type Patch struct {
	Target Target `json:"target"`
	Patch  string `json:"patch"`
}

// Target selects objects.
type Target struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}

// Rights are config/rbac with the Secrets named and, if wanted, the right to
// delete pods.
func Rights(namespace string, mayDelete bool, secrets ...string) Overlay {
	o := Overlay{Namespace: namespace, Resources: []string{"rbac"}}
	if mayDelete {
		o.Components = append(o.Components, "pod-delete")
	}
	if len(secrets) > 0 {
		o.Components = append(o.Components, "secrets")
		o.Patches = append(o.Patches, Patch{Target{"Role", "etcdroll-secrets"},
			"- {op: replace, path: /rules/0/resourceNames, value: [" + strings.Join(secrets, ", ") + "]}"})
	}
	return o
}

// Render gives the objects of the overlay.
func Render(ctx context.Context, c *cluster.Cluster, o Overlay) (Objects, error) {
	dir, err := write(ctx, c, o)
	if err != nil {
		return nil, err
	}
	out, err := c.Kubectl(ctx, nil, "kustomize", dir)
	if err != nil {
		return nil, err
	}
	return Parse(out)
}

// fieldManager is who applies.
const fieldManager = "--field-manager=etcdroll-installer"

// ApplyObjects applies what was rendered server-side. Fields that the API
// server does not know are errors.
func ApplyObjects(ctx context.Context, c *cluster.Cluster, objects Objects) error {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, object := range objects {
		list.Items = append(list.Items, *object)
	}
	text, err := list.MarshalJSON()
	if err != nil {
		return fmt.Errorf("apply objects: %w", err)
	}
	_, err = c.Kubectl(ctx, text, "apply", "--server-side", "--validate=strict", fieldManager, "-f", "-")
	return err
}

// Apply applies the overlay server-side, as ApplyObjects does.
func Apply(ctx context.Context, c *cluster.Cluster, o Overlay) error {
	dir, err := write(ctx, c, o)
	if err != nil {
		return err
	}
	_, err = c.Kubectl(ctx, nil, "apply", "--server-side", "--validate=strict", fieldManager, "-k", dir)
	return err
}

// write writes the kustomization into a directory of its own.
func write(ctx context.Context, c *cluster.Cluster, o Overlay) (string, error) {
	root, err := cluster.Root(ctx)
	if err != nil {
		return "", err
	}
	above := filepath.Join(c.Dir, "overlays")
	if err := os.MkdirAll(above, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(above, o.Namespace+"-")
	if err != nil {
		return "", err
	}
	text, err := o.kustomization(dir, filepath.Join(root, "config"))
	if err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	return dir, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o644)
}

// kustomization is the file's text. Folders are relative, as kustomize wants.
func (o Overlay) kustomization(dir, config string) ([]byte, error) {
	paths := map[string][]string{}
	for _, r := range o.Resources {
		paths["resources"] = append(paths["resources"], filepath.Join(config, r))
	}
	for _, name := range o.Components {
		paths["components"] = append(paths["components"], filepath.Join(config, "components", name))
	}
	file := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
	for key, list := range paths {
		for i := range list {
			var err error
			if list[i], err = filepath.Rel(dir, list[i]); err != nil {
				return nil, err
			}
		}
		file[key] = list
	}
	if o.Namespace != "" {
		file["namespace"] = o.Namespace
	}
	if len(o.Patches) > 0 {
		file["patches"] = o.Patches
	}
	var generated []map[string]any
	for name, literals := range o.Literals {
		generated = append(generated, map[string]any{"name": name, "literals": literals})
	}
	if len(generated) > 0 {
		file["configMapGenerator"] = generated
	}
	return yaml.Marshal(file)
}
