package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	authnv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Rights of the two parts, as the design lists them: all of them namespaced.
var (
	TriggerRights = []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update", "patch"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
	FunctionRights = []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"get", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "secrets", "configmaps"}, Verbs: []string{"get"}},
		{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"list"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
	// PodDelete is the optional right that recovering a broken pod needs.
	PodDelete = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"delete"}}
)

const tokenSeconds = int64(4 * 3600)

// Identity makes a ServiceAccount with these rights in the namespace and
// returns a kubeconfig file for it. The audit log knows it by UserOf.
func (c *Cluster) Identity(ctx context.Context, namespace, name string, rights ...rbacv1.PolicyRule) (string, error) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if _, err := c.Client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("create service account: %w", err)
	}
	if _, err := c.Client.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rights}, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("create role: %w", err)
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}
	if _, err := c.Client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("create role binding: %w", err)
	}
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
