// Package stage is one etcd set with everything that rolls it, watches it and
// stands in between, in a namespace of its own.
package stage

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/test/chaos/apiproxy"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/e2e/access"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/e2e/relay"
)

// Ground is what all stages share.
type Ground struct {
	Cluster  *cluster.Cluster
	Registry *observer.Registry
	Programs product.Programs
	Cgroup   string // where members have cgroups of their own; "" if they cannot be cut off
}

// Stage is one set, and who rolls it.
type Stage struct {
	*Ground
	Namespace string
	Shape     plan.Shape
	Set       *etcdset.Set
	Observer  *observer.Observer // of the present round

	Place    *product.Place
	Function *product.Part
	Trigger  *product.Part
	Relay    *relay.Relay
	Weather  *Weather
	Proxy    *apiproxy.Proxy

	authority *access.Authority
	remove    func()
	closers   []func()
}

// How long a set may take to form and to be marked, on a busy machine.
const (
	formsWithin  = 2 * time.Minute
	markedWithin = time.Minute
)

// New makes a set of this shape and waits until it is marked as converged.
func New(ctx context.Context, g *Ground, shape plan.Shape) (*Stage, error) {
	s := &Stage{Ground: g, Shape: shape, Weather: &Weather{}}
	var err error
	if s.Namespace, s.remove, err = g.Cluster.Namespace(ctx, "chaos"); err != nil {
		return nil, err
	}
	for _, begin := range []func(context.Context) error{s.create, s.install, s.run, s.formed} {
		if err := begin(ctx); err != nil {
			s.Close()
			return nil, fmt.Errorf("set up %s: %w", shape, err)
		}
	}
	return s, nil
}

// Close ends everything and removes the namespace.
func (s *Stage) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
	s.remove()
}

func (s *Stage) onClose(f func()) { s.closers = append(s.closers, f) }

func (s *Stage) create(ctx context.Context) error {
	o := etcdset.Options{Namespace: s.Namespace, Name: "etcd", Replicas: s.Shape.Members, Config: impatient(s.Shape), Shape: s.shape}
	if s.Shape.TLS {
		if err := s.certify(ctx, &o); err != nil {
			return err
		}
	}
	if s.Shape.Members > 1 {
		if err := s.budget(ctx); err != nil {
			return err
		}
	}
	var err error
	s.Set, err = etcdset.Create(ctx, s.Cluster.Client, o)
	return err
}

// impatient has the rules of the defaults with short times: a round is to cost
// seconds, and most of what a roll does is wait.
func impatient(shape plan.Shape) map[string]any {
	c := etcdset.Quick()
	c["allowDowntime"] = shape.Members < 3
	c["gates"] = map[string]any{"termStable": map[string]any{"quietSeconds": 3}}
	c["steps"] = map[string]any{"candidateUpSeconds": 1, "revisionsPerHour": 40}
	return c
}

// shape gives members one thread each: up to 25 of them share the machine, and
// what they would spend on waking each other is lost to the rolls.
func (s *Stage) shape(set *appsv1.StatefulSet) {
	etcdset.WithEnv("GOMAXPROCS", "1")(&set.Spec.Template)
	if s.Shape.OnDelete {
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	}
}

func (s *Stage) budget(ctx context.Context) error {
	one := intstr.FromInt32(1)
	_, err := s.Cluster.Client.PolicyV1().PodDisruptionBudgets(s.Namespace).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "etcd"}}},
	}, metav1.CreateOptions{})
	return err
}

const secretName = "etcd-tls"

func (s *Stage) certify(ctx context.Context, o *etcdset.Options) error {
	var err error
	if s.authority, err = access.NewAuthority("chaos CA"); err != nil {
		return err
	}
	mine, err := s.authority.Issue("tester")
	if err != nil {
		return err
	}
	o.TLSSecret = secretName
	if o.Access.TLS, err = s.authority.Client(mine, o.HostNames()[0]); err != nil {
		return err
	}
	data, err := s.issue(*o)
	if err != nil {
		return err
	}
	_, err = s.Cluster.Client.CoreV1().Secrets(s.Namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName}, Data: data}, metav1.CreateOptions{})
	return err
}

func (s *Stage) issue(o etcdset.Options) (map[string][]byte, error) {
	pair, err := s.authority.Issue("etcd", o.HostNames()...)
	return map[string][]byte{"ca.crt": s.authority.PEM, "tls.crt": pair.Cert, "tls.key": pair.Key}, err
}

// Rotate replaces the certificate of members and function by a new one.
func (s *Stage) Rotate(ctx context.Context) error {
	data, err := s.issue(s.Set.Options)
	if err != nil {
		return err
	}
	_, err = s.Cluster.Client.CoreV1().Secrets(s.Namespace).Update(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName}, Data: data}, metav1.UpdateOptions{})
	return err
}
