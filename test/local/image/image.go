// Package image maps image names to programs on the host: the local cluster's
// stand-in for a registry.
package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Image is what an image name stands for.
type Image struct {
	Programs   map[string]string // name below /usr/local/bin -> host path
	Entrypoint []string          // used where the container sets no command
	ID         string            // name@sha256:<digest of the first program>
}

// program is one entry of the map, written [NAME:]PATH [ARGUMENT...]: the name
// it has in the image (default: the path's last part), where it is on the host
// and, for the entry point, fixed arguments.
type program struct {
	name, path string
	args       []string
}

func parseProgram(text string) program {
	words := strings.Fields(text)
	if len(words) == 0 {
		return program{}
	}
	name, path, named := strings.Cut(words[0], ":")
	if !named || strings.Contains(name, "/") {
		name, path = filepath.Base(words[0]), words[0]
	}
	return program{name: name, path: path, args: words[1:]}
}

// Registry resolves image names. It is safe for concurrent use.
type Registry struct {
	entries map[string][]string
	mu      sync.Mutex
	digests map[string]digest
}

type digest struct {
	size    int64
	changed time.Time
	sum     string
}

// NewRegistry takes image name -> programs, each written [NAME:]PATH. The first
// is the entry point and may be followed by fixed arguments. Image names are
// compared as written, with their tag or digest.
func NewRegistry(entries map[string][]string) *Registry {
	return &Registry{entries: entries, digests: map[string]digest{}}
}

// Parse reads IMAGE=PROGRAM[,PROGRAM...], the form of the --image flag, with
// programs as in NewRegistry. Relative paths become absolute.
func Parse(flag string) (name string, programs []string, err error) {
	name, list, ok := strings.Cut(flag, "=")
	if !ok || name == "" || list == "" {
		return "", nil, fmt.Errorf("image %q is not IMAGE=PATH[,PATH...]", flag)
	}
	for _, text := range strings.Split(list, ",") {
		p := parseProgram(text)
		abs, err := filepath.Abs(p.path)
		if err != nil || p.path == "" {
			return "", nil, fmt.Errorf("image %q: no usable path in %q", name, text)
		}
		programs = append(programs, strings.Join(append([]string{p.name + ":" + abs}, p.args...), " "))
	}
	return name, programs, nil
}

// Resolve returns the image, or an error whose text suits a pull failure.
func (r *Registry) Resolve(name string) (Image, error) {
	entries, known := r.entries[name]
	if !known || len(entries) == 0 {
		return Image{}, fmt.Errorf("failed to pull image %q: not found in the image map", name)
	}
	entry := parseProgram(entries[0])
	img := Image{Programs: map[string]string{}, Entrypoint: append([]string{"/usr/local/bin/" + entry.name}, entry.args...)}
	for _, text := range entries {
		p := parseProgram(text)
		if info, err := os.Stat(p.path); err != nil || !info.Mode().IsRegular() {
			return Image{}, fmt.Errorf("failed to pull image %q: no program at %s", name, p.path)
		}
		img.Programs[p.name] = p.path
	}
	sum, err := r.sum(entry.path)
	if err != nil {
		return Image{}, fmt.Errorf("failed to pull image %q: %w", name, err)
	}
	img.ID = repository(name) + "@sha256:" + sum
	return img, nil
}

// sum is the program's digest; unchanged files are read once.
func (r *Registry) sum(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.digests[path]; ok && d.size == info.Size() && d.changed.Equal(info.ModTime()) {
		return d.sum, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	d := digest{size: info.Size(), changed: info.ModTime(), sum: hex.EncodeToString(h.Sum(nil))}
	r.digests[path] = d
	return d.sum, nil
}

// repository is the image name without tag and digest.
func repository(name string) string {
	name, _, _ = strings.Cut(name, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	return name
}
