// Package proc starts the long-running programs of the local cluster, remembers
// them in files and ends them, without ever touching a process of anyone else.
package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Record identifies one process. A pid alone is re-used by the kernel; pid,
// start time and program together are not.
type Record struct {
	Name       string `json:"name"`
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"startTicks"` // field 22 of /proc/PID/stat
	Exe        string `json:"exe"`        // target of /proc/PID/exe
}

// Observe builds the record of a process that is known to be ours right now.
func Observe(name string, pid int) (Record, error) {
	ticks, _, err := stat(pid)
	if err != nil {
		return Record{}, fmt.Errorf("reading the start time of %s: %w", name, err)
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return Record{}, fmt.Errorf("reading the program of %s: %w", name, err)
	}
	return Record{Name: name, PID: pid, StartTicks: ticks, Exe: exe}, nil
}

// Alive says whether exactly this process still runs. A zombie does not run.
func (r Record) Alive() bool {
	if r.PID <= 1 {
		return false
	}
	ticks, state, err := stat(r.PID)
	if err != nil || ticks != r.StartTicks || state == 'Z' || state == 'X' {
		return false
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", r.PID))
	return err == nil && strings.TrimSuffix(exe, " (deleted)") == strings.TrimSuffix(r.Exe, " (deleted)")
}

// Signal sends sig to the process alone, if it is still the recorded one.
func (r Record) Signal(sig unix.Signal) error {
	if !r.Alive() {
		return unix.ESRCH
	}
	return unix.Kill(r.PID, sig)
}

// SignalGroup sends sig to the process group that the process leads.
func (r Record) SignalGroup(sig unix.Signal) error {
	if !r.Alive() {
		return unix.ESRCH
	}
	if pgid, err := unix.Getpgid(r.PID); err != nil || pgid != r.PID {
		return unix.Kill(r.PID, sig)
	}
	return unix.Kill(-r.PID, sig)
}

// Stop sends SIGTERM, waits up to grace, then sends SIGKILL to the whole group
// and waits until the process is gone.
func (r Record) Stop(grace time.Duration) error {
	if grace > 0 && r.Signal(unix.SIGTERM) == nil && r.gone(grace) {
		return nil
	}
	_ = r.SignalGroup(unix.SIGKILL)
	if !r.gone(10 * time.Second) {
		return fmt.Errorf("%s (pid %d) did not end after SIGKILL", r.Name, r.PID)
	}
	return nil
}

func (r Record) gone(within time.Duration) bool {
	deadline := time.Now().Add(within)
	for r.Alive() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	return true
}

// Write stores the record as dir/NAME.json.
func (r Record) Write(dir string) error {
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, r.Name+".json")
	if err := os.WriteFile(path+".tmp", content, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// Read loads dir/NAME.json. A missing file gives a zero record, which is not alive.
func Read(dir, name string) (Record, error) {
	content, err := os.ReadFile(filepath.Join(dir, name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{Name: name}, nil
	}
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(content, &r); err != nil {
		return Record{}, fmt.Errorf("reading the process record of %s: %w", name, err)
	}
	return r, nil
}

// Remove deletes the record's file.
func (r Record) Remove(dir string) { _ = os.Remove(filepath.Join(dir, r.Name+".json")) }

// List loads every record in dir; unreadable ones are reported, not skipped.
func List(dir string) ([]Record, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var out []Record
	for _, file := range files {
		r, err := Read(dir, strings.TrimSuffix(filepath.Base(file), ".json"))
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// stat returns start time and state of a process. The command name may hold
// spaces and parentheses, so fields are counted from its closing one.
func stat(pid int) (ticks uint64, state byte, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	text := string(content)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("short /proc/%d/stat", pid)
	}
	ticks, err = strconv.ParseUint(fields[19], 10, 64)
	return ticks, fields[0][0], err
}
