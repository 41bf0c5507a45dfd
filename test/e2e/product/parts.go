package product

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Function starts the function.
func (p *Place) Function() (*Part, error) { return p.run(p.Programs.Function) }

// Chaos starts the function that kills itself at every odd or even pass of the
// checkpoint, and is restarted each time.
func (p *Place) Chaos(checkpoint, every string) (*Part, error) {
	part, err := p.run(p.Programs.Chaos, "ETCDROLL_CHAOS_AT="+checkpoint, "ETCDROLL_CHAOS_EVERY="+every,
		"ETCDROLL_CHAOS_FILE="+filepath.Join(p.Cluster.Dir, p.Namespace+"-passes"))
	if err == nil {
		part.Revive()
	}
	return part, err
}

// Through is the same place with a function that reaches the API server at this
// URL, a proxy of the test's own. Its certificate is for the name and issued by
// the authority (PEM).
func (p *Place) Through(server, name string, authority []byte) (*Place, error) {
	config, err := clientcmd.LoadFromFile(p.function)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	for _, c := range config.Clusters {
		*c = clientcmdapi.Cluster{Server: server, TLSServerName: name, CertificateAuthorityData: authority}
	}
	other := *p
	other.function = strings.TrimSuffix(p.function, ".kubeconfig") + "-through.kubeconfig"
	return &other, clientcmd.WriteToFile(*config, other.function)
}

// Mortal starts a function that is restarted whenever it ends, and that kills
// itself at the checkpoint which Arm names.
func (p *Place) Mortal() (*Part, error) {
	part, err := p.run(p.Programs.Chaos, "ETCDROLL_CHAOS_ARMED="+p.armed())
	if err == nil {
		part.Revive()
	}
	return part, err
}

// Arm makes the next pass of the checkpoint, by whichever mortal function of the
// place comes first, its last.
func (p *Place) Arm(checkpoint string) error {
	return os.WriteFile(p.armed(), []byte(checkpoint), 0o644)
}

// Disarm takes that back. It says whether it was still to come.
func (p *Place) Disarm() bool { return os.Remove(p.armed()) == nil }

func (p *Place) armed() string { return filepath.Join(p.Cluster.Dir, p.Namespace+"-armed") }

func (p *Place) run(program string, env ...string) (*Part, error) {
	return newPart("roll-fn", program, p.logs(), append(append(env, p.Env...), "ETCDROLL_NAMESPACES="+p.Namespace),
		"--kubeconfig="+p.function, "--log-level=debug")
}

// Trigger starts a trigger that posts to the sink.
func (p *Place) Trigger(sink string, args ...string) (*Part, error) {
	return newPart("trigger", p.Programs.Trigger, p.logs(), p.Env, append([]string{
		"--kubeconfig=" + p.trigger, "--namespaces=" + p.Namespace, "--sink=" + sink,
		"--lease-namespace=" + p.Namespace, "--log-level=debug"}, args...)...)
}

func (p *Place) logs() string { return filepath.Join(p.Cluster.Dir, "logs", p.Namespace) }
