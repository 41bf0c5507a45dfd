package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
)

// cgroup is a container's own, in which its sockets are born; nil is none. The
// local cluster does nothing with it. It is for tests that do something to the
// network of one container.
type cgroup struct {
	path string
	file *os.File
}

// enterCgroup sees to it that the command starts in a cgroup of its own.
func (s Spec) enterCgroup(cmd *exec.Cmd) (*cgroup, error) {
	if s.Cgroup == "" {
		return nil, nil
	}
	c := &cgroup{path: filepath.Join(s.Cgroup, s.Name)}
	// One of an earlier run may be left after a crash of the agent.
	if err := os.Mkdir(c.path, 0o755); err != nil && !os.IsExist(err) {
		return nil, err
	}
	var err error
	if c.file, err = os.Open(c.path); err != nil {
		return nil, err
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(c.file.Fd())
	return c, nil
}

func (c *cgroup) closeFile() {
	if c != nil {
		_ = c.file.Close()
	}
}

// remove fails while the kernel still ends other processes of the container;
// then the next run takes the directory over.
func (c *cgroup) remove() {
	if c != nil {
		_ = os.Remove(c.path)
	}
}
