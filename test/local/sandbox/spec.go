// Package sandbox runs one container as a process with a root directory, mount,
// process and host name space of its own. The network is the host's: pods are
// told apart by their loopback address.
package sandbox

import (
	"fmt"
	"os"
	"time"

	"github.com/etcdroll/etcdroll/test/local/inside"
)

// DefaultPath is PATH where the container's environment does not set it.
const DefaultPath = inside.DefaultPath

// Mount binds a host file or directory to a path inside the container.
type Mount = inside.Mount

// Spec is one container, ready to run.
type Spec struct {
	Name     string            // unique among live containers, for the process record
	Root     string            // host directory that becomes "/"; must be below the cluster's own directory
	Hostname string            // the pod's host name
	Programs map[string]string // name below /usr/local/bin -> host path
	Mounts   []Mount           // volumes
	Files    map[string]string // small files such as etc/hosts, by path below the root
	Argv     []string          // Argv[0] is looked up in PATH inside the container
	Env      []string          // NAME=value
	Dir      string            // working directory inside the container
	Log      string            // host file to which output is appended
	RunDir   string            // where the process record is kept while it runs
	Cgroup   string            // directory below which the container gets a cgroup of its own, by Name; "" is none
}

// Exit is how a container ended.
type Exit struct {
	Code   int // 128 + signal when a signal ended it
	Signal int // 0 when it exited by itself
	At     time.Time
}

// String describes the exit for events.
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("signal %d", e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// StartError says that the container could not be started at all, as opposed to
// having started and failed.
type StartError struct{ Message string }

func (e *StartError) Error() string { return e.Message }

// privileged says whether mounts can be made without a user name space.
func privileged() bool { return os.Geteuid() == 0 }
