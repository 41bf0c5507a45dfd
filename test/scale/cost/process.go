// Package cost reads from the kernel what a process takes.
package cost

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// MiB is 2^20 bytes.
const MiB = 1 << 20

// Memory is the resident memory of a process, in bytes: now, and its peak.
type Memory struct{ Now, Peak int64 }

// MemoryOf reads /proc/PID/status.
func MemoryOf(pid int) (Memory, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	defer func() { _ = file.Close() }()
	var m Memory
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		into := map[string]*int64{"VmRSS": &m.Now, "VmHWM": &m.Peak}[name]
		if into == nil {
			continue
		}
		if _, err := fmt.Sscanf(strings.TrimSpace(value), "%d kB", into); err != nil {
			return Memory{}, fmt.Errorf("read %s: %w", name, err)
		}
		*into *= 1024
	}
	if m.Now == 0 || m.Peak == 0 {
		return Memory{}, errors.New("the kernel does not tell the memory of a process")
	}
	return m, nil
}

// Processor is what a process has used so far, in user and kernel mode. The
// kernel counts in hundredths of a second.
func Processor(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses and may hold anything.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("the kernel does not tell the processor time of %d", pid)
	}
	var user, kernel int64
	if _, err := fmt.Sscan(fields[11], &user); err != nil {
		return 0, err
	}
	if _, err := fmt.Sscan(fields[12], &kernel); err != nil {
		return 0, err
	}
	return time.Duration(user+kernel) * 10 * time.Millisecond, nil
}
