// Package stage is the control plane that the scale tests play on: the API
// server and etcd of the local cluster and nobody else, the trigger under its
// own ServiceAccount, and a fleet of sets.
package stage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/test/e2e/child"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/scale/fleet"
)

// Alone stops everybody but API server and etcd: sets and pods are written by
// the tests themselves.
func Alone(ctx context.Context, c *cluster.Cluster) error {
	if !c.Local() {
		return errors.New("scale tests need a cluster of their own")
	}
	for _, name := range []string{"controller-manager", "scheduler", "agent"} {
		if err := component(ctx, c, "stop-component", name); err != nil {
			return err
		}
	}
	return nil
}

// StopAPIServer and StartAPIServer make an outage.
func StopAPIServer(ctx context.Context, c *cluster.Cluster) error {
	return component(ctx, c, "stop-component", "apiserver")
}

// StartAPIServer returns once the API server is ready.
func StartAPIServer(ctx context.Context, c *cluster.Cluster) error {
	return component(ctx, c, "start-component", "apiserver")
}

func component(ctx context.Context, c *cluster.Cluster, verb, name string) error {
	return child.Run(ctx, child.Command{
		Name: verb + " " + name, Path: filepath.Join(c.Dir, "local"), Log: filepath.Join(c.Dir, "components.log"),
		Args: []string{verb, name, "--dir=" + filepath.Join(c.Dir, "cluster")},
	})
}

// Settle makes a namespace with the rights of config/rbac and an empty fleet.
func Settle(ctx context.Context, c *cluster.Cluster, programs product.Programs, prefix string) (*product.Place, *fleet.Fleet, error) {
	namespace, _, err := c.Namespace(ctx, prefix)
	if err != nil {
		return nil, nil, err
	}
	// Pods want this account, and its controller does not run.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := c.Client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, nil, fmt.Errorf("create account: %w", err)
	}
	place, err := product.Install(ctx, c, programs, namespace, false)
	if err != nil {
		return nil, nil, err
	}
	f, err := fleet.Open(c.Config, namespace)
	return place, f, err
}
