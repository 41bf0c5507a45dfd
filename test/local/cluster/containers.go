package cluster

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Running says whether any process of the cluster lives.
func Running(d Dir) (bool, error) {
	components, containers, err := d.running()
	return len(components)+len(containers) > 0, err
}

// SignalContainer sends a signal to the first process of a running container. An
// empty container name means the pod's only one.
func SignalContainer(d Dir, namespace, pod, container string, sig unix.Signal) error {
	_, containers, err := d.running()
	if err != nil {
		return err
	}
	prefix := namespace + "_" + pod + "_"
	found := 0
	for _, r := range containers {
		name, ours := strings.CutPrefix(r.Name, prefix)
		if !ours || container != "" && name != container {
			continue
		}
		found++
		if found > 1 {
			return fmt.Errorf("pod %s/%s has several containers: name one", namespace, pod)
		}
		if err := r.Signal(sig); err != nil {
			return fmt.Errorf("signalling %s: %w", r.Name, err)
		}
	}
	if found == 0 {
		return fmt.Errorf("no running container %q in pod %s/%s", container, namespace, pod)
	}
	return nil
}
