package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// Poll is the pause between two looks of a script, its `sleep 1`.
const Poll = time.Second

const scriptAccount = "shell-job"

// script is the hands of a script: it asks the API server as a ServiceAccount of
// its own, and the members by their addresses, and knows nothing of what the
// observer sees.
type script struct {
	stage  *Stage
	client kubernetes.Interface
	user   string
}

func (s *Stage) newScript(ctx context.Context) (*script, error) {
	namespace := s.set.Namespace
	meta := metav1.ObjectMeta{Namespace: namespace, Name: scriptAccount}
	core, rbac := s.cluster.Client.CoreV1(), s.cluster.Client.RbacV1()
	_, err1 := core.ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	_, err2 := rbac.Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"get", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "delete"}},
	}}, metav1.CreateOptions{})
	_, err3 := rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: scriptAccount},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: scriptAccount}}}, metav1.CreateOptions{})
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("give the script its rights: %w", err)
	}
	file, err := s.cluster.Identity(ctx, namespace, scriptAccount)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	return &script{stage: s, client: client, user: cluster.UserOf(namespace, scriptAccount)}, err
}

// target waits until the controller has seen the change and gives the revision
// that pods are to have. It is how a script begins.
func (s *script) target(ctx context.Context) (revision string, err error) {
	return revision, s.until(ctx, func() (bool, error) {
		set, err := s.client.AppsV1().StatefulSets(s.stage.set.Namespace).Get(ctx, s.stage.set.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		revision = set.Status.UpdateRevision
		return set.Status.ObservedGeneration == set.Generation, nil
	})
}

// Partition writes the partition.
func (s *script) Partition(ctx context.Context, value int) error {
	patch := fmt.Appendf(nil, `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":%d}}}}`, value)
	_, err := s.client.AppsV1().StatefulSets(s.stage.set.Namespace).Patch(ctx, s.stage.set.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: scriptAccount})
	return err
}

// Delete deletes a pod with its own grace.
func (s *script) Delete(ctx context.Context, index int) error {
	return s.client.CoreV1().Pods(s.stage.set.Namespace).Delete(ctx, s.stage.set.PodName(index), metav1.DeleteOptions{})
}

// Replaced waits until the pod has the target revision and is Ready.
func (s *script) Replaced(ctx context.Context, index int) error {
	revision, err := s.target(ctx)
	if err != nil {
		return err
	}
	return s.until(ctx, func() (bool, error) {
		pod, err := s.client.CoreV1().Pods(s.stage.set.Namespace).Get(ctx, s.stage.set.PodName(index), metav1.GetOptions{})
		if err != nil {
			return false, nil // between two pods there is none
		}
		return pod.Labels[events.PodRevisionLabel] == revision && pod.DeletionTimestamp == nil && isReady(pod), nil
	})
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Healthy waits until each member answers a linearizable read, as `etcdctl
// endpoint health --cluster` has it.
func (s *script) Healthy(ctx context.Context) error {
	endpoints, err := s.stage.endpoints(ctx)
	if err != nil {
		return err
	}
	return s.until(ctx, func() (bool, error) {
		for _, endpoint := range endpoints {
			if !healthy(ctx, endpoint) {
				return false, nil
			}
		}
		return true, nil
	})
}

func healthy(ctx context.Context, endpoint string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: time.Second})
	if err != nil {
		return false
	}
	defer func() { _ = client.Close() }()
	_, err = client.Get(ctx, "health")
	return err == nil
}

// Rest waits for the cool-down.
func (s *script) Rest(ctx context.Context) error { return pause(ctx, s.stage.Cooldown) }

// Leader is the index of the member that leads.
func (s *script) Leader(ctx context.Context) (index int, err error) {
	return index, s.until(ctx, func() (bool, error) {
		index, err = s.stage.set.Leader(ctx)
		return err == nil, nil
	})
}

// Lead announces a move to the observer, so that it counts as a planned one, and
// makes it.
func (s *script) Lead(ctx context.Context, index int) error {
	now, err := s.Leader(ctx)
	if err != nil || now == index {
		return err
	}
	from, _ := s.stage.observer.Member(now)
	to, _ := s.stage.observer.Member(index)
	s.stage.observer.Announce(from.ID, to.ID)
	return s.stage.set.LeadWith(ctx, index)
}

// until looks again and again, with a pause like a script's.
func (s *script) until(ctx context.Context, look func() (bool, error)) error {
	for {
		done, err := look()
		if err != nil || done {
			return err
		}
		if err := pause(ctx, Poll); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
