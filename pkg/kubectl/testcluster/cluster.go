// Package testcluster is a cluster in memory for the tests of the commands: an
// API server with one etcd set, and members that answer.
package testcluster

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
)

// Noon is the time in this cluster.
var Noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// Cluster is the cluster and what commands print.
type Cluster struct {
	Client   *fake.Clientset
	Members  []guard.Member // by index
	Commit   uint64
	Out, Err bytes.Buffer
}

// New makes a cluster of the objects. The members of a healthy set of three
// answer, the one at index 2 leads.
func New(objects ...runtime.Object) *Cluster {
	c := &Cluster{Client: fake.NewClientset(objects...), Commit: 100}
	for i := range 3 {
		c.Members = append(c.Members, guard.Member{
			Reached: true, ID: memberID(i), Cluster: 77, Leader: memberID(2), Term: 5, Version: "3.6.16", Read: guard.Yes, Peers: peers(3),
			First: guard.Sample{Applied: 100, Revision: 90}, Last: guard.Sample{Applied: 100, Revision: 90}, DBSize: 1 << 20, Quota: 2 << 30,
		})
	}
	return c
}

func memberID(i int) guard.ID { return guard.ID(0xa0 + i) }

func peers(n int) []guard.Peer {
	var list []guard.Peer
	for i := range n {
		list = append(list, guard.Peer{ID: memberID(i), Name: fmt.Sprintf("etcd-%d", i)})
	}
	return list
}

// Access is how a command gets at the cluster.
func (c *Cluster) Access(t *testing.T) *access.Access {
	t.Helper()
	a := &access.Access{
		Flags:   genericclioptions.NewConfigFlags(true),
		Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &c.Out, ErrOut: &c.Err},
		Getenv:  func(string) string { return "" },
	}
	a.Connect = func() (*access.Cluster, error) {
		return &access.Cluster{
			Namespace: "db", Client: c.Client, API: access.ReadOnly(api{c}), Clock: func() time.Time { return Noon },
			Members: func(guard.Limits) fn.Members { return members{c} },
		}, nil
	}
	return a
}

// members answers as the cluster says.
type members struct{ *Cluster }

func (m members) Probe(_ context.Context, endpoints []etcdprobe.Endpoint, _ etcdprobe.Credentials) etcdprobe.Reading {
	return etcdprobe.Reading{Members: m.Cluster.Members[:min(len(endpoints), len(m.Cluster.Members))], Commit: m.Commit, AlarmsRead: guard.Yes, Auth: guard.No}
}

func (members) MoveLeader(context.Context, etcdprobe.Endpoint, etcdprobe.Credentials, guard.ID) error {
	panic("a command moved the leader")
}

func (members) Leads(context.Context, etcdprobe.Endpoint, etcdprobe.Credentials) guard.Answer {
	return guard.Unknown
}

// api reads as the function's client does.
type api struct{ *Cluster }

func (a api) Set(ctx context.Context, namespace, name string) (*appsv1.StatefulSet, time.Time, error) {
	set, err := a.Client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
	return set, Noon, err
}

func (a api) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return a.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (a api) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return a.Client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (a api) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return a.Client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (a api) Budgets(ctx context.Context, namespace string) ([]policyv1.PodDisruptionBudget, error) {
	list, err := a.Client.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (api) MayDeletePods(context.Context, string) (bool, error) { return false, nil }

func (api) PatchSet(context.Context, string, string, fn.Patch) error        { panic("written") }
func (api) DeletePod(context.Context, string, string, fn.PodIdentity) error { panic("written") }
func (api) RecordEvent(context.Context, *eventsv1.Event) error              { panic("written") }
