package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/etcdroll/etcdroll/test/local/inside"
)

// Streams are the standard streams of a command run inside a container; nil
// ones are empty or discarded.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Exec runs a command inside the container's root, with the container's
// environment, and returns its exit code. It ends when the context or the container does. An error means that the command
// was not run or was cut off.
func (p *Process) Exec(ctx context.Context, argv []string, streams Streams) (int, error) {
	if !privileged() {
		return 0, errors.New("exec in a container needs root: entering another user name space is not supported")
	}
	root := fmt.Sprintf("/proc/%d/root", p.pid)
	program, err := inside.LookPath(root, argv[0], p.env)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	cmd := exec.CommandContext(ctx, program)
	cmd.Args, cmd.Env, cmd.Dir = argv, p.env, "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, streams.Out, streams.Err
	cmd.SysProcAttr = &unix.SysProcAttr{Chroot: root, Setsid: true, Pdeathsig: unix.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 200 * time.Millisecond
	if err := startOnSpawner(cmd); err != nil {
		return 0, fmt.Errorf("exec %q: %w", argv[0], err)
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return 0, fmt.Errorf("exec %q: %w", argv[0], ctx.Err())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
