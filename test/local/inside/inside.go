// Package inside is what happens inside a container's new name spaces before the
// container's program runs. It imports few packages, see init.
package inside

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Command is the hidden subcommand under which the agent's program starts again
// inside the name spaces.
const Command = "container-init"

// Setup is what the parent sends.
type Setup struct {
	Root     string // host directory that becomes "/"
	Hostname string
	Mounts   []Mount
	Argv     []string
	Env      []string
	Dir      string
}

// Mount binds a host file or directory to a path inside the container.
type Mount struct {
	Source   string
	Target   string
	ReadOnly bool
}

// The work is done here and not in main, because every start of a container
// would otherwise pay a tenth of a second for the initialisation of client-go:
// Go initialises packages in the order of their import paths, as soon as what
// they import is ready, and with so few imports this one is ready early. The thread is kept because
// the parent-death signal belongs to a thread, and a program that is executed
// from another one loses it.
func init() {
	if len(os.Args) > 1 && os.Args[1] == Command {
		runtime.LockOSThread()
		os.Exit(run())
	}
}

// run works inside the new name spaces: it reads the setup from descriptor 3,
// makes the mounts, enters the root and becomes the container's program. It
// returns only on failure, after having told the parent why on descriptor 4.
func run() int {
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	answer := os.NewFile(4, "answer")
	var s Setup
	if err := json.NewDecoder(os.NewFile(3, "setup")).Decode(&s); err != nil {
		return 128 // the parent went away
	}
	_, _ = fmt.Fprintln(answer, s.become().Error())
	return 128
}

func (s Setup) become() error {
	if err := syscall.Sethostname([]byte(s.Hostname)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	if err := s.mount(); err != nil {
		return err
	}
	if err := syscall.Chroot(s.Root); err != nil {
		return fmt.Errorf("entering the container's root: %w", err)
	}
	if err := syscall.Chdir(s.Dir); err != nil {
		return fmt.Errorf("working directory %q: %w", s.Dir, err)
	}
	program, err := LookPath("/", s.Argv[0], s.Env)
	if err != nil {
		return err
	}
	return fmt.Errorf("exec %q: %w", program, syscall.Exec(program, s.Argv, s.Env))
}

func (s Setup) mount() error {
	// Nothing mounted from here on may reach the host.
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	// A parent's mount must be there before a child's.
	slices.SortStableFunc(s.Mounts, func(a, b Mount) int { return depth(a.Target) - depth(b.Target) })
	for _, m := range s.Mounts {
		if err := m.bind(s.Root); err != nil {
			return fmt.Errorf("mounting %s: %w", m.Target, err)
		}
	}
	if err := syscall.Mount("/dev", path.Join(s.Root, "dev"), "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting /dev: %w", err)
	}
	return mountProc(path.Join(s.Root, "proc"))
}

func depth(target string) int { return strings.Count(path.Clean(target), "/") }

// mountProc shows the container its own processes. Where the kernel refuses a
// fresh proc (nested user name spaces), the host's is bound instead.
func mountProc(target string) error {
	if syscall.Mount("proc", target, "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "") == nil {
		return nil
	}
	if err := syscall.Mount("/proc", target, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
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
	if err := syscall.Mount(m.Source, target, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	if !m.ReadOnly {
		return nil
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(target, &fs); err != nil {
		return err
	}
	// Flags of the underlying mount are locked in a user name space and must be repeated.
	kept := uintptr(fs.Flags) & (syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC | syscall.MS_NOATIME | syscall.MS_RELATIME)
	return syscall.Mount("", target, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|kept, "")
}

// makeTarget creates the mount point below root. It refuses symbolic links on
// the way, which could lead out of the root and onto the host.
func makeTarget(root, target string, dir bool) (string, error) {
	at := root
	parts := strings.Split(strings.Trim(path.Clean("/"+target), "/"), "/")
	for i, part := range parts {
		at = path.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case err == nil && info.Mode()&os.ModeSymlink != 0:
			return "", fmt.Errorf("%s is a symbolic link", at)
		case err == nil:
		case i < len(parts)-1 || dir:
			if err := os.Mkdir(at, 0o755); err != nil {
				return "", err
			}
		default:
			if err := os.WriteFile(at, nil, 0o644); err != nil {
				return "", err
			}
		}
	}
	return at, nil
}
