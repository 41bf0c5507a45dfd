package config

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/etcdroll/etcdroll/test/config/overlay"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

// right is one verb on one resource of one Role.
type right struct{ role, resource, verb string }

func (r right) String() string { return r.role + " " + r.verb + " " + r.resource }

// lacks says how the part behaves that has all rights but one. The list is
// complete: a right that is in a Role and not here fails the test, so no Role
// has a right that nothing needs.
var lacks = map[right]func(*testing.T, *product.Place, right){
	{"etcdroll-trigger", "statefulsets", "list"}:         triggerEnds,
	{"etcdroll-trigger", "statefulsets", "watch"}:        triggerEnds,
	{"etcdroll-trigger", "pods", "list"}:                 triggerEnds,
	{"etcdroll-trigger", "pods", "watch"}:                triggerEnds,
	{"etcdroll-trigger-lease", "leases", "create"}:       triggerEnds,
	{"etcdroll-trigger-lease", "leases", "get"}:          triggerEnds,
	{"etcdroll-trigger-lease", "leases", "update"}:       triggerEnds,
	{"etcdroll-roll-fn", "statefulsets", "get"}:          functionAnswers,
	{"etcdroll-roll-fn", "statefulsets", "patch"}:        functionAnswers,
	{"etcdroll-roll-fn", "pods", "get"}:                  functionAnswers,
	{"etcdroll-roll-fn", "configmaps", "get"}:            setIsBlocked("ConfigInvalid", "no right to get ConfigMap etcd-roll"),
	{"etcdroll-secrets", "secrets", "get"}:               setIsBlocked("CredentialsInvalid", "no right to get Secret etcd-certs"),
	{"etcdroll-roll-fn", "poddisruptionbudgets", "list"}: functionLogs,
	{"etcdroll-roll-fn", "events", "create"}:             functionLogs,
	{"etcdroll-pod-delete", "pods", "delete"}:            rollWaitsForADelete,
}

// Every verb of every Role is taken away in turn, and the part concerned names
// it in one clear message.
func TestEachMissingRightIsNamed(t *testing.T) {
	objects, err := overlay.Render(t.Context(), shared, overlay.Rights("any", true, secretName, "etcd-auth"))
	must(t, err)
	roles, err := overlay.All[rbacv1.Role](objects, "Role")
	must(t, err)
	tested := map[right]bool{}
	for _, role := range roles {
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					r := right{role.Name, resource, verb}
					tested[r] = true
					t.Run(r.String(), func(t *testing.T) { without(t, r) })
				}
			}
		}
	}
	for r := range maps.Keys(lacks) {
		if !tested[r] {
			t.Errorf("%s is in no Role", r)
		}
	}
}

func without(t *testing.T, r right) {
	check := lacks[r]
	if check == nil {
		t.Fatalf("nobody knows what %s is needed for", r)
	}
	check(t, installWithout(t, r), r)
}

// installWithout installs the parts with all rights but r.
func installWithout(t *testing.T, r right) *product.Place {
	t.Helper()
	ns := namespace(t)
	objects, err := overlay.Render(t.Context(), shared, overlay.Rights(ns, true, secretName, "etcd-auth"))
	must(t, err)
	for _, object := range objects {
		if object.GetKind() == "Role" && object.GetName() == r.role {
			must(t, strike(object, r))
		}
	}
	place, err := product.InstallObjects(t.Context(), shared, built(t), ns, objects)
	must(t, err)
	return place
}

// strike takes the right out of the Role and leaves every other one in it.
func strike(object *unstructured.Unstructured, r right) error {
	role, err := overlay.Into[rbacv1.Role](object)
	if err != nil {
		return err
	}
	var rules []rbacv1.PolicyRule
	struck := false
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			single := *rule.DeepCopy()
			single.Resources = []string{resource}
			if resource == r.resource && slices.Contains(rule.Verbs, r.verb) {
				struck = true
				single.Verbs = slices.DeleteFunc(single.Verbs, func(v string) bool { return v == r.verb })
			}
			if len(single.Verbs) > 0 {
				rules = append(rules, single)
			}
		}
	}
	if !struck {
		return fmt.Errorf("%s is not in the Role", r)
	}
	role.Rules = rules
	object.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(role)
	return err
}
