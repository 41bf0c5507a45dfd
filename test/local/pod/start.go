package pod

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/test/local/expand"
	"github.com/etcdroll/etcdroll/test/local/image"
	"github.com/etcdroll/etcdroll/test/local/podenv"
	"github.com/etcdroll/etcdroll/test/local/sandbox"
)

// start makes a fresh root directory and starts the container in it.
func (w *Worker) start(spec *corev1.Container, c *container, img image.Image, env map[string]string) (*sandbox.Process, error) {
	root := w.root(spec.Name)
	// The last run's mounts went with its mount name space: only plain files are left here.
	if err := os.RemoveAll(root); err != nil {
		return nil, err
	}
	mounts, err := w.volumes.Mounts(spec, func(s string) string { return expand.String(s, env) })
	if err != nil {
		return nil, err
	}
	log, err := w.logFile(spec.Name, c.restarts)
	if err != nil {
		return nil, err
	}
	full := maps.Clone(env)
	setDefault(full, "PATH", sandbox.DefaultPath)
	setDefault(full, "HOSTNAME", w.hostname())
	setDefault(full, "HOME", "/")
	return sandbox.Start(sandbox.Spec{
		Name:     fmt.Sprintf("%s_%s_%s", w.base.Namespace, w.base.Name, spec.Name),
		Root:     root,
		Hostname: w.hostname(),
		Programs: img.Programs,
		Mounts:   mounts,
		Files:    map[string]string{"etc/hosts": w.hosts(), "etc/hostname": w.hostname() + "\n"},
		Argv:     argv(spec, img, env),
		Env:      podenv.List(full),
		Dir:      workingDir(spec),
		Log:      log,
		RunDir:   w.host.RunDir,
		Cgroup:   w.host.Cgroup,
	})
}

func setDefault(env map[string]string, name, value string) {
	if _, set := env[name]; !set {
		env[name] = value
	}
}

// argv joins command and arguments by the Pod API's rules: a command replaces
// the image's entry point.
func argv(spec *corev1.Container, img image.Image, env map[string]string) []string {
	out := img.Entrypoint
	if len(spec.Command) > 0 {
		out = expand.Strings(spec.Command, env)
	}
	return append(append([]string{}, out...), expand.Strings(spec.Args, env)...)
}

func workingDir(spec *corev1.Container) string {
	if spec.WorkingDir == "" {
		return "/"
	}
	return spec.WorkingDir
}

func (w *Worker) hostname() string {
	if w.base.Spec.Hostname != "" {
		return w.base.Spec.Hostname
	}
	return w.base.Name
}

// logFile is LogsDir/NAMESPACE_NAME_UID/CONTAINER/RESTARTS.log.
func (w *Worker) logFile(container string, restarts int32) (string, error) {
	dir := filepath.Join(w.host.LogsDir, fmt.Sprintf("%s_%s_%s", w.base.Namespace, w.base.Name, w.base.UID), container)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf("%d.log", restarts)), nil
}
