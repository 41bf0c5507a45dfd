// Package setting says where figures come from: the machine, and the commit that
// was measured.
package setting

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine is what the kernel says of this one.
func Machine() string {
	model := runtime.GOARCH
	if name, ok := lineOf("/proc/cpuinfo", "model name"); ok {
		model = name
	}
	text := fmt.Sprintf("%d cores (%s)", runtime.NumCPU(), model)
	if total, ok := lineOf("/proc/meminfo", "MemTotal"); ok {
		var kib int
		if _, err := fmt.Sscanf(total, "%d kB", &kib); err == nil {
			text += fmt.Sprintf(", %d GiB of memory", (kib+1<<19)>>20)
		}
	}
	text += ", Linux"
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		text += " " + string(bytes.TrimSpace(kernel))
	}
	return text + ", " + runtime.Version()
}

// lineOf is the value of the first line "NAME: VALUE".
func lineOf(file, name string) (string, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// Commit is that of the checkout at root, with a + if one of the paths has been
// changed since.
func Commit(ctx context.Context, root string, paths ...string) (string, error) {
	head, err := git(ctx, root, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", err
	}
	changed, err := git(ctx, root, append([]string{"status", "--porcelain", "--"}, paths...)...)
	if changed != "" {
		head += "+"
	}
	return head, err
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(bytes.TrimSpace(out)), nil
}
