package config

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/test/config/overlay"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

// may asks the API server's authorizer.
func may(t *testing.T, user, verb, group, resource, namespace string) bool {
	t.Helper()
	review, err := shared.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: resource}},
	}, metav1.CreateOptions{})
	must(t, err)
	return review.Status.Allowed
}

// One installation drives the sets of another namespace, which holds rights and
// no ServiceAccount, and of no third one.
func TestOneInstallationForSeveralNamespaces(t *testing.T) {
	home, sets, third := namespace(t), namespace(t), namespace(t)
	central := direct(home, "namespaces")
	central.Literals = map[string][]string{"etcdroll-namespaces": {"list=" + sets}}
	must(t, overlay.Apply(t.Context(), shared, central))
	there := overlay.Overlay{Namespace: sets, Resources: []string{"rbac/sets"}, Components: []string{"pod-delete", "elsewhere"},
		// Here the home of the accounts has a name of its own.
		Patches: []overlay.Patch{{Target: overlay.Target{Kind: "RoleBinding"}, Patch: "- {op: replace, path: /subjects/0/namespace, value: " + home + "}"}}}
	rendered, err := overlay.Render(t.Context(), shared, there)
	must(t, err)
	for _, object := range rendered {
		if kind := object.GetKind(); kind != "Role" && kind != "RoleBinding" {
			t.Errorf("%s %s is not only rights", kind, object.GetName())
		}
	}
	must(t, overlay.ApplyObjects(t.Context(), shared, rendered))
	trigger, function := cluster.UserOf(home, product.TriggerAccount), cluster.UserOf(home, product.FunctionAccount)
	for _, ask := range []struct{ user, verb, group, resource string }{
		{trigger, "watch", "apps", "statefulsets"}, {trigger, "list", "", "pods"},
		{function, "patch", "apps", "statefulsets"}, {function, "delete", "", "pods"},
	} {
		eventually(t, ask.user+" may not "+ask.verb+" "+ask.resource+" in "+sets, func() bool { return may(t, ask.user, ask.verb, ask.group, ask.resource, sets) })
		for _, elsewhere := range []string{third, ""} {
			if may(t, ask.user, ask.verb, ask.group, ask.resource, elsewhere) {
				t.Errorf("%s may %s %s in %q", ask.user, ask.verb, ask.resource, elsewhere)
			}
		}
	}
	if may(t, cluster.UserOf(sets, product.FunctionAccount), "patch", "apps", "statefulsets", sets) {
		t.Error("an account of the same name in the sets' namespace has the rights too")
	}
}
