package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command is what to run.
type Command struct {
	Name string // for messages
	Path string
	Args []string
	Env  []string  // NAME=value, added to this process's environment
	Dir  string    // working directory; "" is this process's
	Log  string    // file that standard output and error are appended to
	Out  io.Writer // standard output goes here instead, if set
	Err  io.Writer // standard error goes here instead, if set
	// Farewell is what the child gets when this process dies; zero is SIGKILL.
	Farewell syscall.Signal
}

// Process is a started child.
type Process struct {
	command Command
	cmd     *exec.Cmd
	done    chan struct{}
	err     error // of Wait; read it only after done
}

// The farewell signal follows the thread that forked the child, so all are
// forked by one goroutine that keeps its thread for ever.
var (
	starts    = make(chan func())
	startOnce sync.Once
)

func onStarter(f func()) {
	startOnce.Do(func() {
		go func() {
			runtime.LockOSThread()
			for f := range starts {
				f()
			}
		}()
	})
	finished := make(chan struct{})
	starts <- func() { f(); close(finished) }
	<-finished
}

// Start runs the command and returns at once.
func Start(c Command) (*Process, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Dir = append(os.Environ(), c.Env...), c.Dir
	if c.Farewell == 0 {
		c.Farewell = syscall.SIGKILL
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: c.Farewell}
	closeLog := func() {}
	if c.Log != "" {
		if err := os.MkdirAll(filepath.Dir(c.Log), 0o755); err != nil {
			return nil, err
		}
		log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return nil, err
		}
		cmd.Stdout, cmd.Stderr = log, log
		closeLog = func() { _ = log.Close() }
	}
	if c.Out != nil {
		cmd.Stdout = c.Out
	}
	if c.Err != nil {
		cmd.Stderr = c.Err
	}
	var err error
	onStarter(func() { err = cmd.Start() })
	closeLog() // the child has its own
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{command: c, cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Run runs the command to its end, or kills it when the context ends first. The
// error shows the end of its log.
func Run(ctx context.Context, c Command) error {
	p, err := Start(c)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
		return context.Cause(ctx)
	}
	if p.Err() != nil {
		return fmt.Errorf("%s: %w\n%s", c.Name, p.Err(), p.Tail(20))
	}
	return nil
}

// PID is the child's process id, and its group's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed once the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Alive says that the child has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err says how the child ended; nil for exit code 0 or when it still runs.
func (p *Process) Err() error {
	if p.Alive() {
		return nil
	}
	return p.err
}

// Killed says that the child ended by SIGKILL.
func (p *Process) Killed() bool {
	if p.Alive() {
		return false
	}
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Signal sends a signal to the child's group, if it has not ended.
func (p *Process) Signal(s syscall.Signal) { p.signal(s) }

// Kill ends the child's whole group with SIGKILL and waits for it.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// Stop asks the child to end and kills it after the grace.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
	}
	p.Kill()
}

// signal reaches the group as long as the child has not been waited for, so
// that a reused process id is never hit.
func (p *Process) signal(s syscall.Signal) {
	if p.Alive() {
		_ = syscall.Kill(-p.PID(), s)
	}
}

// Tail is the end of the child's log.
func (p *Process) Tail(lines int) string { return Tail(p.command.Log, lines) }

// Tail is the end of a file.
func Tail(file string, lines int) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
