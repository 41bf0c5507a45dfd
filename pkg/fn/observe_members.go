package fn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
)

// askMembers reads what only the gates need, at the same time: the disruption
// budgets and the members. Where the configuration or the credentials cannot be used the
// members stay unknown, which no gate takes for good.
func (o *Observer) askMembers(ctx context.Context, s *Sight) error {
	var refused error
	var budget sync.WaitGroup
	budget.Go(func() { s.Budget, refused = o.budget(ctx, s) })
	err := o.interview(ctx, s)
	budget.Wait()
	return errors.Join(refused, err)
}

// interview asks the members.
func (o *Observer) interview(ctx context.Context, s *Sight) error {
	s.Probed = true
	if !s.usable {
		return nil
	}
	c, problem, err := readCredentials(ctx, o.API, s.set, s.Settings, s.Now)
	if err != nil {
		return err
	}
	if problem != nil {
		s.Config = firstProblem(s.Config, problem)
		return nil
	}
	s.who, s.members = c.who, o.Members(s.Limits)
	s.endpoints = s.endpointsWith(c.tls)
	reading := s.members.Probe(ctx, s.endpoints, c.who)
	s.Members, s.Commit = reading.Members, reading.Commit
	s.AlarmsRead, s.Alarms, s.Auth = reading.AlarmsRead, reading.Alarms, reading.Auth
	s.blameCredentials(c)
	s.advance(o.Clock())
	return ctx.Err()
}

// endpointsWith gives every member's address: the pod's own IP, so that
// neither DNS nor what etcd advertises matters, with the name that the
// certificate must carry. A pod that is not the set's own is not dialled: it
// would be handed our credentials.
func (s *Sight) endpointsWith(base *tls.Config) []etcdprobe.Endpoint {
	endpoints := make([]etcdprobe.Endpoint, len(s.pods))
	for i, pod := range s.pods {
		e := etcdprobe.Endpoint{Index: i, Expect: s.Set.PodName(i), Absent: pod == nil || !s.Pods[i].Owned || pod.Status.PodIP == ""}
		if !e.Absent {
			e.Address = net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(s.Settings.Port))
		}
		if base != nil {
			e.TLS = base.Clone()
			e.TLS.ServerName = s.Settings.serverName(s.set, e.Expect)
		}
		endpoints[i] = e
	}
	return endpoints
}

// blameCredentials tells a fault of ours from a fault of one member. When not
// one member accepts what we bring, it is ours to mend; when some do, the
// gates name those that do not.
func (s *Sight) blameCredentials(c credentials) {
	asked, refused, words := 0, 0, ""
	for i, m := range s.Members {
		if s.endpoints[i].Absent {
			continue
		}
		asked++
		if m.Problem != guard.CertificateRefused && m.Problem != guard.Unauthenticated {
			continue
		}
		refused++
		if c.from != "" {
			s.Members[i].Detail = fmt.Sprintf("%s (%s)", m.Detail, c.from)
		}
		if words == "" {
			words = fmt.Sprintf("%s: %s", s.Set.PodName(i), s.Members[i].Detail)
		}
	}
	if asked > 0 && refused == asked {
		s.Config = firstProblem(s.Config, credentialsInvalid("no member accepts the credentials; %s", words))
	}
}

// budget is the tightest of the PodDisruptionBudgets that select a pod of the
// set. One whose status is older than its spec allows nothing.
func (o *Observer) budget(ctx context.Context, s *Sight) (guard.Budget, error) {
	list, err := o.API.Budgets(ctx, s.Target.Namespace)
	if apierrors.IsForbidden(err) {
		return guard.Budget{Read: guard.No}, nil
	}
	if err != nil {
		return guard.Budget{}, fmt.Errorf("list poddisruptionbudgets in %s: %w", s.Target.Namespace, err)
	}
	return toBudget(list, podLabels(s.set.Spec.Template.Labels, s.pods)), nil
}

func toBudget(list []policyv1.PodDisruptionBudget, pods []labels.Set) guard.Budget {
	b := guard.Budget{Read: guard.Yes}
	for _, pdb := range list {
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil || !slices.ContainsFunc(pods, func(l labels.Set) bool { return selector.Matches(l) }) {
			continue
		}
		allowed := int(pdb.Status.DisruptionsAllowed)
		if pdb.Status.ObservedGeneration < pdb.Generation {
			allowed = 0
		}
		if !b.Found || allowed < b.Allowed || (allowed == b.Allowed && pdb.Name < b.Name) {
			b.Found, b.Name, b.Allowed = true, pdb.Name, allowed
		}
	}
	return b
}

func podLabels(template map[string]string, pods []*corev1.Pod) []labels.Set {
	sets := []labels.Set{template}
	for _, pod := range pods {
		if pod != nil {
			sets = append(sets, pod.Labels)
		}
	}
	return sets
}
