package apiserver

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// denied puts the missing right first where the API server's authorizer
// refuses, so that whoever reads the answer or the log knows which line of the
// Role to mend. The server's own words follow; they name the ServiceAccount.
// Refusals of admission come with the same code and stay as they are.
func denied(err error, verb, resource, namespace string) error {
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot "+verb+" resource ") {
		return err
	}
	return fmt.Errorf("missing right: verb %q on resource %q in namespace %s: %w", verb, resource, namespace, err)
}
