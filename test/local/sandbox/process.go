package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/etcdroll/etcdroll/test/local/inside"
	"github.com/etcdroll/etcdroll/test/local/proc"
)

// Process is a started container.
type Process struct {
	pid    int
	record proc.Record
	runDir string
	cgroup *cgroup
	env    []string
	done   chan struct{}
	exit   Exit
}

// Start prepares the root directory, starts the container and returns once its
// program has been executed. A *StartError means that the program could not be
// run (no such file, mount refused).
func Start(spec Spec) (*Process, error) {
	if err := spec.prepareRoot(); err != nil {
		return nil, &StartError{Message: err.Error()}
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the container log: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd, talk, err := spec.command(log)
	if err != nil {
		return nil, err
	}
	cgroup, err := spec.enterCgroup(cmd)
	if err != nil {
		talk.abandon()
		return nil, &StartError{Message: "making the container's cgroup: " + err.Error()}
	}
	defer cgroup.closeFile()
	if err := startOnSpawner(cmd); err != nil {
		talk.abandon()
		return nil, &StartError{Message: "creating the container's name spaces: " + err.Error()}
	}
	p := &Process{cgroup: cgroup, pid: cmd.Process.Pid, runDir: spec.RunDir, env: spec.Env, done: make(chan struct{})}
	failure := talk.handOver(spec.setup())
	go p.wait(cmd)
	if failure != "" {
		<-p.done
		return nil, &StartError{Message: failure}
	}
	p.remember(spec.Name)
	return p, nil
}

// PID is the container's first process as the host sees it.
func (p *Process) PID() int { return p.pid }

// Done is closed when the container and all its processes have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how it ended; valid once Done is closed.
func (p *Process) Exit() Exit { return p.exit }

// Signal sends a signal to the container's first process. When that one ends,
// the kernel ends every other process of the container.
func (p *Process) Signal(sig unix.Signal) {
	select {
	case <-p.done:
	default:
		_ = unix.Kill(p.pid, sig)
	}
}

// remember stores who the process is, for `down` after a crash of the agent. A
// process that has ended already needs no record.
func (p *Process) remember(name string) {
	record, err := proc.Observe(name, p.pid)
	if err != nil {
		return
	}
	p.record = record
	if record.Write(p.runDir) == nil {
		go func() {
			<-p.done
			record.Remove(p.runDir)
		}()
	}
}

func (p *Process) wait(cmd *exec.Cmd) {
	_ = cmd.Wait()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	p.exit = Exit{Code: cmd.ProcessState.ExitCode(), At: time.Now()}
	if status.Signaled() {
		p.exit.Signal = int(status.Signal())
		p.exit.Code = 128 + p.exit.Signal
	}
	p.cgroup.remove()
	close(p.done)
}

func (s Spec) command(log *os.File) (*exec.Cmd, *conversation, error) {
	talk, err := newConversation()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command("/proc/self/exe", inside.Command)
	cmd.Env = []string{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = talk.childFiles()
	cmd.SysProcAttr = &unix.SysProcAttr{
		Setsid: true,
		// The agent's death ends every container, whatever killed it.
		Pdeathsig:  unix.SIGKILL,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS,
	}
	if !privileged() {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return cmd, talk, nil
}

func (s Spec) setup() inside.Setup {
	mounts := slices.Clone(s.Mounts)
	for name, path := range s.Programs {
		mounts = append(mounts, Mount{Source: path, Target: "/usr/local/bin/" + name})
	}
	mounts = append(mounts, libraryMounts()...)
	return inside.Setup{Root: s.Root, Hostname: s.Hostname, Mounts: mounts, Argv: s.Argv, Env: s.Env, Dir: s.Dir}
}

// prepareRoot makes the skeleton of the container's file system on the host; the
// mounts themselves exist only in the container's own name space.
func (s Spec) prepareRoot() error {
	for _, dir := range []string{"proc", "dev", "tmp", "etc", "run", "usr/local/bin", "var/run"} {
		if err := os.MkdirAll(filepath.Join(s.Root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(s.Root, "tmp"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	if err := linkLibraries(s.Root); err != nil {
		return err
	}
	for name, content := range s.Files {
		if err := os.WriteFile(filepath.Join(s.Root, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
