package product

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/test/config/overlay"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// Names of the ServiceAccounts in config/rbac.
const (
	TriggerAccount  = "etcdroll-trigger"
	FunctionAccount = "etcdroll-roll-fn"
)

// Place is where the parts of one installation run: a namespace of a cluster.
type Place struct {
	Cluster   *cluster.Cluster
	Programs  Programs
	Namespace string
	Env       []string // NAME=value, for every part that is started

	trigger, function string // kubeconfigs
}

// Install applies config/rbac, and nothing else gives the two parts rights.
// Without the right to delete pods the function cannot recover a broken pod by
// itself; it reads the Secrets that are named here and no other.
func Install(ctx context.Context, c *cluster.Cluster, programs Programs, namespace string, mayDelete bool, secrets ...string) (*Place, error) {
	return InstallOverlay(ctx, c, programs, overlay.Rights(namespace, mayDelete, secrets...))
}

// InstallOverlay is Install with a kustomization of one's own.
func InstallOverlay(ctx context.Context, c *cluster.Cluster, programs Programs, o overlay.Overlay) (*Place, error) {
	objects, err := overlay.Render(ctx, c, o)
	if err != nil {
		return nil, err
	}
	return InstallObjects(ctx, c, programs, o.Namespace, objects)
}

// InstallObjects is Install with objects that were rendered before.
func InstallObjects(ctx context.Context, c *cluster.Cluster, programs Programs, namespace string, objects overlay.Objects) (*Place, error) {
	grants, err := objects.Grants()
	if err != nil {
		return nil, err
	}
	if err := overlay.ApplyObjects(ctx, c, objects); err != nil {
		return nil, err
	}
	if err := effective(ctx, c, namespace, grants); err != nil {
		return nil, err
	}
	p := &Place{Cluster: c, Programs: programs, Namespace: namespace}
	if p.function, err = c.Identity(ctx, namespace, FunctionAccount); err != nil {
		return nil, err
	}
	p.trigger, err = c.Identity(ctx, namespace, TriggerAccount)
	return p, err
}

// Users are how the audit log knows the two parts.
func (p *Place) Users() []string { return []string{p.TriggerUser(), p.FunctionUser()} }

// TriggerUser is how the API server knows the trigger.
func (p *Place) TriggerUser() string { return cluster.UserOf(p.Namespace, TriggerAccount) }

// FunctionUser is how the API server knows the function.
func (p *Place) FunctionUser() string { return cluster.UserOf(p.Namespace, FunctionAccount) }

const effectiveWithin = 10 * time.Second

// effective waits until the API server's authorizer has seen the rules, so that
// what is refused later is refused for good.
func effective(ctx context.Context, c *cluster.Cluster, namespace string, grants []overlay.Grant) error {
	deadline := time.Now().Add(effectiveWithin)
	for _, g := range grants {
		if len(g.Verbs) == 0 {
			continue
		}
		for {
			allowed, err := allows(ctx, c, namespace, g)
			if err != nil {
				return err
			}
			if allowed {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("role %s has no effect after %s: %s may not %s %s", g.Role, effectiveWithin, g.Account, g.Verbs[0], g.Resources[0])
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

func allows(ctx context.Context, c *cluster.Cluster, namespace string, g overlay.Grant) (bool, error) {
	ask := &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: g.Verbs[0], Group: g.APIGroups[0], Resource: g.Resources[0]}
	if len(g.ResourceNames) > 0 {
		ask.Name = g.ResourceNames[0]
	}
	review, err := c.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: cluster.UserOf(namespace, g.Account), ResourceAttributes: ask},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask for the rights of %s: %w", g.Account, err)
	}
	return review.Status.Allowed, nil
}
