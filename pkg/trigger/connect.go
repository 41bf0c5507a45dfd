package trigger

import (
	"errors"
	"fmt"
	"path/filepath"

	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clients are the three API clients that are needed, and no more: a full clientset would be the larger part of the
// process.
type clients struct {
	apps         appsclient.AppsV1Interface
	coordination coordination.CoordinationV1Interface
	meta         metadata.Interface
}

func connect(o Options) (clients, error) {
	config, err := restConfig(o.Kubeconfig)
	if err != nil {
		return clients{}, err
	}
	config.UserAgent = "etcdroll-trigger"
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return clients{}, fmt.Errorf("prepare metadata client: %w", err)
	}
	typed := rest.CopyConfig(config)
	typed.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	apps, err := appsclient.NewForConfig(typed)
	if err != nil {
		return clients{}, fmt.Errorf("prepare client: %w", err)
	}
	leases, err := coordination.NewForConfig(typed)
	if err != nil {
		return clients{}, fmt.Errorf("prepare client: %w", err)
	}
	return clients{apps: apps, coordination: leases, meta: meta}, nil
}

// restConfig is the file if there is one, else the pod's service account. A kubeconfig in the home directory is not
// looked for: what a daemon talks to should be said.
func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
		if files := filepath.SplitList(kubeconfig); len(files) > 1 {
			rules = &clientcmd.ClientConfigLoadingRules{Precedence: files}
		}
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
		return config, nil
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("not running in a pod: give --kubeconfig or KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("read the pod's service account: %w", err)
	}
	return config, nil
}
