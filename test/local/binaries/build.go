package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Builder turns catalog names into paths of programs, building what is missing.
type Builder struct {
	Catalog  []Binary  // what All builds
	Extra    []Binary  // what is built only by name
	Source   string    // test/local/binaries of the checkout
	Cache    string    // see CacheDir
	Assets   string    // KUBEBUILDER_ASSETS, or empty
	Progress io.Writer // one line per step
}

// NewBuilder finds the checkout and the cache of this environment.
func NewBuilder(progress io.Writer) (*Builder, error) {
	source, err := SourceDir()
	if err != nil {
		return nil, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	return &Builder{Catalog: Catalog, Extra: Knative, Source: source, Cache: cache, Assets: os.Getenv("KUBEBUILDER_ASSETS"), Progress: progress}, nil
}

// All builds what is missing of the whole catalog and returns name -> path.
func (b *Builder) All(ctx context.Context) (map[string]string, error) {
	return b.Each(ctx, b.Catalog)
}

// Each is All for other programs.
func (b *Builder) Each(ctx context.Context, programs []Binary) (map[string]string, error) {
	paths := map[string]string{}
	for _, bin := range programs {
		path, err := b.Build(ctx, bin.Name)
		if err != nil {
			return nil, err
		}
		paths[bin.Name] = path
	}
	return paths, nil
}

// Missing names the programs that are not in the cache.
func (b *Builder) Missing(programs []Binary) (names []string, err error) {
	for _, bin := range programs {
		path, err := b.Path(bin.Name)
		if err != nil {
			return nil, err
		}
		if !exists(path) {
			names = append(names, bin.Name)
		}
	}
	return names, nil
}

// Path says where the named program is or will be.
func (b *Builder) Path(name string) (string, error) {
	bin, err := b.find(name)
	if err != nil {
		return "", err
	}
	if path := b.asset(name); path != "" {
		return path, nil
	}
	key, err := b.key(bin)
	if err != nil {
		return "", fmt.Errorf("computing the cache key of %s: %w", name, err)
	}
	return filepath.Join(b.Cache, name+"-"+key), nil
}

// Build returns the path of the named program and builds it first if it is not
// there. Concurrent callers, also in other processes, build it once.
func (b *Builder) Build(ctx context.Context, name string) (string, error) {
	path, err := b.Path(name)
	if err != nil || exists(path) {
		return path, err
	}
	bin, err := b.find(name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return "", fmt.Errorf("creating the binary cache: %w", err)
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return "", fmt.Errorf("locking the binary cache: %w", err)
	}
	defer unlock()
	if exists(path) { // another caller built it while this one waited
		return path, nil
	}
	return path, b.compile(ctx, bin, path)
}

func (b *Builder) compile(ctx context.Context, bin Binary, path string) error {
	began := time.Now()
	_, _ = fmt.Fprintf(b.Progress, "building %s ...\n", bin.Name)
	temporary := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	defer func() { _ = os.Remove(temporary) }()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", bin.LDFlags, "-o", temporary, bin.Package)
	cmd.Dir = filepath.Join(b.Source, bin.Module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	// On cancellation the compilers must end too, not only the go command.
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", bin.Name, err, tail(output.String(), 20))
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("placing %s in the cache: %w", bin.Name, err)
	}
	_, _ = fmt.Fprintf(b.Progress, "built %s in %s\n", bin.Name, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// asset is the program's path in KUBEBUILDER_ASSETS, or empty. Only Kubernetes'
// own programs are taken from there: the etcd in it has no known version.
func (b *Builder) asset(name string) string {
	if b.Assets == "" || strings.HasPrefix(name, "etcd") {
		return ""
	}
	path := filepath.Join(b.Assets, name)
	if !exists(path) {
		return ""
	}
	return path
}

// key names the build: it changes with every input that changes the program.
func (b *Builder) key(bin Binary) (string, error) {
	dir := filepath.Join(b.Source, bin.Module)
	h := sha256.New()
	own, err := filepath.Glob(filepath.Join(dir, "*", "*.go")) // sorted
	if err != nil {
		return "", err
	}
	for i := range own {
		own[i] = strings.TrimPrefix(own[i], dir+string(filepath.Separator))
	}
	for _, file := range append([]string{"go.mod", "go.sum"}, own...) {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "%s %d\n%s", file, len(content), content)
	}
	toolchain := exec.Command("go", "env", "GOVERSION", "GOOS", "GOARCH")
	toolchain.Dir = dir
	version, err := toolchain.Output()
	if err != nil {
		return "", fmt.Errorf("asking go for its version: %w", err)
	}
	_, _ = fmt.Fprintf(h, "%s\n%s\n%s", version, bin.Package, bin.LDFlags)
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
