package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// The parent-death signal belongs to a thread, and a program executed from any
// other thread loses it: container-init must stay on the one it was born with.
func init() {
	if len(os.Args) > 1 && os.Args[1] == InitCommand {
		runtime.LockOSThread()
	}
}

// Init runs inside the new name spaces: it reads the setup from descriptor 3,
// makes the mounts, enters the root and becomes the container's program. It
// returns only on failure, after having told the parent why on descriptor 4.
func Init() int {
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	answer := os.NewFile(4, "answer")
	var s setup
	if err := json.NewDecoder(os.NewFile(3, "setup")).Decode(&s); err != nil {
		return 128 // the parent went away
	}
	_, _ = fmt.Fprintln(answer, s.become().Error())
	return 128
}

func (s setup) become() error {
	if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	if err := s.mount(); err != nil {
		return err
	}
	if err := unix.Chroot(s.Root); err != nil {
		return fmt.Errorf("entering the container's root: %w", err)
	}
	if err := unix.Chdir(s.Dir); err != nil {
		return fmt.Errorf("working directory %q: %w", s.Dir, err)
	}
	program, err := lookPathBelow("/", s.Argv[0], s.Env)
	if err != nil {
		return err
	}
	return fmt.Errorf("exec %q: %w", program, unix.Exec(program, s.Argv, s.Env))
}

func (s setup) mount() error {
	// Nothing mounted from here on may reach the host.
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	// A parent's mount must be there before a child's.
	sort.SliceStable(s.Mounts, func(i, j int) bool { return depth(s.Mounts[i].Target) < depth(s.Mounts[j].Target) })
	for _, m := range s.Mounts {
		if err := m.bind(s.Root); err != nil {
			return fmt.Errorf("mounting %s: %w", m.Target, err)
		}
	}
	if err := unix.Mount("/dev", filepath.Join(s.Root, "dev"), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting /dev: %w", err)
	}
	return mountProc(filepath.Join(s.Root, "proc"))
}

func depth(target string) int { return strings.Count(filepath.Clean(target), "/") }

// mountProc shows the container its own processes. Where the kernel refuses a
// fresh proc (nested user name spaces), the host's is bound instead.
func mountProc(target string) error {
	if unix.Mount("proc", target, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "") == nil {
		return nil
	}
	if err := unix.Mount("/proc", target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return nil
}

func (m Mount) bind(root string) error {
	info, err := os.Stat(m.Source)
	if err != nil {
		return err
	}
	target, err := makeTarget(root, m.Target, info.IsDir())
	if err != nil {
		return err
	}
	if err := unix.Mount(m.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if !m.ReadOnly {
		return nil
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(target, &fs); err != nil {
		return err
	}
	// Flags of the underlying mount are locked in a user name space and must be repeated.
	kept := uintptr(fs.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_RELATIME)
	return unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|kept, "")
}

// makeTarget creates the mount point below root. It refuses symbolic links on
// the way, which could lead out of the root and onto the host.
func makeTarget(root, target string, dir bool) (string, error) {
	path := root
	parts := strings.Split(strings.Trim(filepath.Clean("/"+target), "/"), "/")
	for i, part := range parts {
		path = filepath.Join(path, part)
		info, err := os.Lstat(path)
		switch {
		case err == nil && info.Mode()&os.ModeSymlink != 0:
			return "", fmt.Errorf("%s is a symbolic link", path)
		case err == nil:
		case i < len(parts)-1 || dir:
			if err := os.Mkdir(path, 0o755); err != nil {
				return "", err
			}
		default:
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				return "", err
			}
		}
	}
	return path, nil
}
