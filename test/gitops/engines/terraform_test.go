package engines

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// There is no Terraform here: the file is parsed with Terraform's own parser, and
// the command in it is the one that test/gitops runs on a real set.
func TestTheTerraformFileParsesAndWaitsForTheToken(t *testing.T) {
	file, diagnostics := hclparse.NewParser().ParseHCLFile(recipes + "terraform/main.tf")
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	for _, resource := range file.Body.(*hclsyntax.Body).Blocks {
		if resource.Type != "resource" || resource.Labels[0] != "terraform_data" {
			continue
		}
		value, diagnostics := resource.Body.Blocks[0].Body.Attributes["command"].Expr.Value(&hcl.EvalContext{})
		if diagnostics.HasErrors() || value.Type() != cty.String {
			t.Fatal(diagnostics)
		}
		want := `kubectl -n "$NAMESPACE" wait "statefulset/$NAME" --timeout=30m --for=jsonpath='{.metadata.annotations.etcdroll\.dev/converged}'="$RELEASE"`
		if got := strings.TrimSpace(value.AsString()); got != want {
			t.Errorf("the command is\n%s\nwant\n%s", got, want)
		}
		return
	}
	t.Error("nothing waits")
}
