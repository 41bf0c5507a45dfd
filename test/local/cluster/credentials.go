package cluster

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/etcdroll/etcdroll/test/local/pki"
)

// identities of the cluster: kubeconfig name -> user and groups.
var identities = map[string][]string{
	"":                   {"local-admin", "system:masters"},
	"controller-manager": {"system:kube-controller-manager"},
	"scheduler":          {"system:kube-scheduler"},
	"nodeagent":          {"system:node-agent", "system:masters"},
}

// credentials writes certificates, keys and kubeconfigs.
func (d Dir) credentials(apiServer string) error {
	authority, err := pki.NewAuthority()
	if err != nil {
		return fmt.Errorf("making the certificate authority: %w", err)
	}
	if err := os.WriteFile(d.pki("ca.crt"), authority.PEM, 0o644); err != nil {
		return err
	}
	serving, err := authority.Server("etcdroll-local")
	if err != nil {
		return err
	}
	if err := serving.Write(d.path("pki"), "serving"); err != nil {
		return err
	}
	kubelet, err := authority.Client("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return err
	}
	if err := kubelet.Write(d.path("pki"), "kubelet-client"); err != nil {
		return err
	}
	private, public, err := pki.SigningKey()
	if err != nil {
		return err
	}
	if err := (pki.Pair{Cert: public, Key: private}).Write(d.path("pki"), "service-account"); err != nil {
		return err
	}
	for name, who := range identities {
		pair, err := authority.Client(who[0], who[1:]...)
		if err != nil {
			return err
		}
		if err := d.kubeconfig(name, apiServer, authority.PEM, pair); err != nil {
			return fmt.Errorf("writing the kubeconfig of %s: %w", who[0], err)
		}
	}
	return nil
}

func (d Dir) kubeconfig(name, apiServer string, ca []byte, pair pki.Pair) error {
	const only = "etcdroll-local"
	config := clientcmdapi.NewConfig()
	config.Clusters[only] = &clientcmdapi.Cluster{Server: "https://" + apiServer, CertificateAuthorityData: ca}
	config.AuthInfos[only] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	config.Contexts[only] = &clientcmdapi.Context{Cluster: only, AuthInfo: only, Namespace: "default"}
	config.CurrentContext = only
	return clientcmd.WriteToFile(*config, d.Kubeconfig(name))
}
