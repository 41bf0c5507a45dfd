package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	authnv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const tokenSeconds = int64(4 * 3600)

// Identity requests a token for a ServiceAccount and returns a kubeconfig file
// with it. The audit log knows its bearer by UserOf.
func (c *Cluster) Identity(ctx context.Context, namespace, name string) (string, error) {
	seconds := tokenSeconds
	token, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authnv1.TokenRequest{Spec: authnv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request token: %w", err)
	}
	return c.writeKubeconfig(namespace, name, token.Status.Token)
}

// UserOf is how the API server knows the identity.
func UserOf(namespace, name string) string { return "system:serviceaccount:" + namespace + ":" + name }

func (c *Cluster) writeKubeconfig(namespace, name, token string) (string, error) {
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		return "", fmt.Errorf("read kubeconfig: %w", err)
	}
	now := config.Contexts[config.CurrentContext]
	if now == nil {
		return "", fmt.Errorf("kubeconfig %s has no current context", c.Kubeconfig)
	}
	out := clientcmdapi.NewConfig()
	out.Clusters["e2e"] = config.Clusters[now.Cluster]
	out.AuthInfos["e2e"] = &clientcmdapi.AuthInfo{Token: token}
	out.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e", Namespace: namespace}
	out.CurrentContext = "e2e"
	file := filepath.Join(c.Dir, "identities", namespace+"-"+name+".kubeconfig")
	return file, clientcmd.WriteToFile(*out, file)
}
