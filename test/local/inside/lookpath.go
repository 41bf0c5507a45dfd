package inside

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// DefaultPath is PATH where the container's environment does not set it.
const DefaultPath = "/usr/local/bin:/usr/bin:/bin"

var errNotFound = errors.New("executable file not found in $PATH")

// LookPath finds the program as a container runtime does, in the PATH of
// the container's environment. The result is a path as seen inside root.
func LookPath(root, name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	dirs := DefaultPath
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = value
		}
	}
	for _, dir := range strings.Split(dirs, ":") {
		info, err := os.Stat(path.Join(root, dir, name))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("exec: %q: %w", name, errNotFound)
}
