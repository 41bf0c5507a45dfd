package proc

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Command describes a long-running program.
type Command struct {
	Name string   `json:"name"`
	Path string   `json:"path"`
	Args []string `json:"args"`
	Log  string   `json:"log"` // standard output and error are appended here
	Dir  string   `json:"dir"`
}

// Start runs the program in a session of its own, so that Ctrl-C in the
// caller's terminal does not reach it, and stores its record in runDir. With
// tied it dies when the calling thread does: the caller must then be locked to
// the main thread. The returned channel is closed when the program has ended
// and lives as long as the caller does.
func (c Command) Start(runDir string, tied bool) (Record, <-chan struct{}, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return Record{}, nil, fmt.Errorf("opening the log of %s: %w", c.Name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if tied {
		cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	}
	if err := cmd.Start(); err != nil {
		return Record{}, nil, fmt.Errorf("starting %s: %w", c.Name, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	record, err := Observe(c.Name, cmd.Process.Pid)
	if err == nil {
		err = record.Write(runDir)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return Record{}, nil, err
	}
	return record, ended, nil
}
