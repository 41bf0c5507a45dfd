package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// readyWithin is generous: the machine may be busy with compiling.
const readyWithin = 2 * time.Minute

// prober asks components whether they are ready, as the administrator.
type prober struct{ client *http.Client }

func newProber(d Dir) (*prober, error) {
	config, err := clientcmd.BuildConfigFromFlags("", d.Kubeconfig(""))
	if err != nil {
		return nil, err
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	return &prober{client: &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{
		TLSClientConfig: tlsConfig, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, DisableKeepAlives: true}}}, nil
}

// untilReady polls the component's ready URL. A component that ends, or is not
// ready in time, is an error that shows the end of its log.
func (p *prober) untilReady(ctx context.Context, d Dir, c Component, ended <-chan struct{}) error {
	if c.Ready == "" {
		return nil
	}
	err := poll(ctx, ended, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Ready, nil)
		if err != nil {
			return err
		}
		response, err := p.client.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", c.Ready, response.Status)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s is not ready: %w\n%s", c.Name, err, d.logTail(c.Name))
	}
	return nil
}

// untilUsable waits until pods can be created and scheduled.
func untilUsable(ctx context.Context, d Dir, nodes int, agentEnded <-chan struct{}) error {
	config, err := clientcmd.BuildConfigFromFlags("", d.Kubeconfig(""))
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	err = poll(ctx, agentEnded, func(ctx context.Context) error { return usable(ctx, client, nodes) })
	if err != nil {
		return fmt.Errorf("the cluster is not usable: %w\n%s", err, d.logTail(NodeAgent))
	}
	return nil
}

func usable(ctx context.Context, client kubernetes.Interface, nodes int) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := 0
	for _, n := range list.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(n.Spec.Taints) == 0 {
				ready++
			}
		}
	}
	if ready < nodes {
		return fmt.Errorf("%d of %d nodes are ready", ready, nodes)
	}
	// Pods are refused before these two exist.
	if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	_, err = client.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, err = client.StorageV1().StorageClasses().Get(ctx, "local-dir", metav1.GetOptions{})
	return err
}

var errEnded = errors.New("its process has ended")

// poll tries every 50 ms until it succeeds; the last failure is the reason.
func poll(ctx context.Context, ended <-chan struct{}, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errEnded
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (d Dir) logTail(component string) string {
	content, err := os.ReadFile(d.Log(component))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n")
}
