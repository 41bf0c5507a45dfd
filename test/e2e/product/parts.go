package product

import (
	"path/filepath"
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
