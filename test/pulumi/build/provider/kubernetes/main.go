// Command kubernetes is Pulumi's Kubernetes provider. Its own main package embeds
// a schema that its repository generates and does not keep; here the same schema is
// read from the module, which the variable below points into.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

// schemaVariable names the file schema.json of the provider's module.
const schemaVariable = "PULUMI_KUBERNETES_SCHEMA"

func main() {
	schema, err := os.ReadFile(os.Getenv(schemaVariable))
	if err != nil {
		fmt.Fprintf(os.Stderr, "reading the schema that %s names: %v\n", schemaVariable, err)
		os.Exit(1)
	}
	provider.Serve("kubernetes", version.Version, withVersion(schema), nil)
}

// withVersion adds the one field that generating would have added.
func withVersion(schema []byte) []byte {
	field := fmt.Appendf(nil, `{"version":%q,`, version.Version)
	return append(field, bytes.TrimPrefix(bytes.TrimSpace(schema), []byte("{"))...)
}
