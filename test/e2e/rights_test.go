package e2e

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/test/config/overlay"
	"github.com/etcdroll/etcdroll/test/e2e/audit"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

// A whole roll with everything that needs a right (certificates, a
// configuration, a disruption budget, the Lease, Events), behind the admission
// policy. The API server's own log is the witness that nothing was asked for
// that the rendered Roles do not allow.
func TestARollStaysWithinItsRights(t *testing.T) {
	t.Parallel()
	if !shared.Local() {
		t.Skip("the audit log of this cluster is not ours to read")
	}
	s := emptyStage(t)
	s.createTLS(named("etcd"))
	s.budget()
	s.fence()
	s.formed()
	s.writeWith(50)
	place := s.install(true)
	function := s.part(place.Function())
	s.part(place.Trigger(function.URL))
	s.settled()
	s.leaderAt(2)
	s.start(etcdset.ToVersion("3.7.3"))
	moves(t, s.happy(), 2)

	asked, err := audit.Asked(shared.AuditLog, place.Users()...)
	s.must(err)
	grants := s.grants(place)
	everybody := s.everybodysRules()
	for _, e := range asked {
		if e.Refused() {
			t.Errorf("%s was refused %s %s", e.User.Username, e.Verb, e.URI)
		}
		if !allowed(e, s.namespace, grants[e.User.Username]) && !slices.ContainsFunc(everybody, e.Within) {
			t.Errorf("%s has no right that covers %s %s", e.User.Username, e.Verb, e.URI)
		}
	}
	s.functionAsksLittle(ofUser(asked, place.FunctionUser()))
	s.triggerOnlyWatches(ofUser(asked, place.TriggerUser()))
	s.usesItsRights(asked, grants)
}

// functionAsksLittle: no watch, no list but of budgets, no Secret but the set's.
func (s *stage) functionAsksLittle(asked []audit.Entry) {
	s.Helper()
	secrets := 0
	for _, e := range asked {
		switch {
		case e.Verb == "watch", e.Verb == "list" && e.Object.Resource != "poddisruptionbudgets", e.Verb == "deletecollection":
			s.Errorf("the function asked %s %s", e.Verb, e.URI)
		case e.Object.Resource == "secrets":
			secrets++
			if e.Object.Name != s.set.TLSSecret {
				s.Errorf("the function read Secret %q", e.Object.Name)
			}
		}
	}
	if secrets == 0 {
		s.Error("the function never read the certificates: the log cannot be complete")
	}
}

// triggerOnlyWatches: no Secret at all, and no write but to its Lease.
func (s *stage) triggerOnlyWatches(asked []audit.Entry) {
	s.Helper()
	for _, e := range asked {
		if e.Object.Resource == "secrets" || e.Write() && e.Object.Resource != "leases" {
			s.Errorf("the trigger asked %s %s", e.Verb, e.URI)
		}
	}
	if !slices.ContainsFunc(asked, func(e audit.Entry) bool { return e.Verb == "watch" }) {
		s.Error("the trigger never watched: the log cannot be complete")
	}
}

// usesItsRights: every verb that is granted was used, but for the delete, which
// only a broken pod needs.
func (s *stage) usesItsRights(asked []audit.Entry, grants map[string][]overlay.Grant) {
	s.Helper()
	for user, list := range grants {
		for _, g := range list {
			for _, verb := range g.Verbs {
				for _, resource := range g.Resources {
					single := rbacv1.PolicyRule{APIGroups: g.APIGroups, Resources: []string{resource}, Verbs: []string{verb}, ResourceNames: g.ResourceNames}
					if verb != "delete" && !slices.ContainsFunc(ofUser(asked, user), func(e audit.Entry) bool { return e.Within(single) }) {
						s.Errorf("%s never used %s %s", user, verb, resource)
					}
				}
			}
		}
	}
}

func ofUser(all []audit.Entry, user string) []audit.Entry {
	return slices.DeleteFunc(slices.Clone(all), func(e audit.Entry) bool { return e.User.Username != user })
}

func allowed(e audit.Entry, namespace string, grants []overlay.Grant) bool {
	return e.Object.Namespace == namespace &&
		slices.ContainsFunc(grants, func(g overlay.Grant) bool { return e.Within(g.PolicyRule) })
}

// grants are the rules of the rendered Roles, by user.
func (s *stage) grants(place *product.Place) map[string][]overlay.Grant {
	s.Helper()
	objects, err := overlay.Render(s.ctx, shared, overlay.Rights(s.namespace, true, s.secrets...))
	s.must(err)
	list, err := objects.Grants()
	s.must(err)
	users := map[string]string{product.TriggerAccount: place.TriggerUser(), product.FunctionAccount: place.FunctionUser()}
	grants := map[string][]overlay.Grant{}
	for _, g := range list {
		grants[users[g.Account]] = append(grants[users[g.Account]], g)
	}
	return grants
}

// everybodysRules are what Kubernetes itself grants to whoever is logged in: the
// server's version, and to ask for one's own rights.
func (s *stage) everybodysRules() (rules []rbacv1.PolicyRule) {
	s.Helper()
	bindings, err := shared.Client.RbacV1().ClusterRoleBindings().List(s.ctx, metav1.ListOptions{})
	s.must(err)
	for _, b := range bindings.Items {
		if slices.ContainsFunc(b.Subjects, func(x rbacv1.Subject) bool { return x.Kind == "Group" && x.Name == "system:authenticated" }) {
			role, err := shared.Client.RbacV1().ClusterRoles().Get(s.ctx, b.RoleRef.Name, getOptions)
			s.must(err)
			rules = append(rules, role.Rules...)
		}
	}
	return rules
}

func (s *stage) budget() {
	s.Helper()
	one := intstr.FromInt32(1)
	_, err := shared.Client.PolicyV1().PodDisruptionBudgets(s.namespace).Create(s.ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: s.set.Name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": s.set.Name}}},
	}, metav1.CreateOptions{})
	s.must(err)
	// Nobody has any business with this one.
	_, err = shared.Client.CoreV1().Secrets(s.namespace).Create(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "of-somebody-else"}}, metav1.CreateOptions{})
	s.must(err)
}

// fence applies the admission policy, bound to this namespace alone: other tests
// change templates of open sets on purpose.
func (s *stage) fence() {
	s.Helper()
	here := `- {op: add, path: /spec/matchResources, value: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + s.namespace + `}}}}`
	s.must(overlay.Apply(s.ctx, shared, overlay.Overlay{Resources: []string{"components/admission"},
		Patches: []overlay.Patch{{Target: overlay.Target{Kind: "ValidatingAdmissionPolicyBinding"}, Patch: here}}}))
	s.Cleanup(func() {
		_, err := shared.Kubectl(context.WithoutCancel(s.ctx), nil, "delete", "-k", "config/components/admission")
		if err != nil {
			s.Error(err)
		}
	})
}
