// Package volume provides the volumes of a pod as host directories.
package volume

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// File is one file of a ConfigMap, Secret, downward API or projected volume.
type File struct {
	Data []byte
	Mode os.FileMode
}

// Payload is a volume's files by path relative to its root.
type Payload map[string]File

const current = "..data"

// Write makes dir show exactly payload and reports whether anything changed. As
// in the kubelet, files lie in a directory named by time, `..data` is a link to
// it that is replaced by rename, and each visible name is a link through
// `..data`: a reader sees the old state or the new one, never a mixture.
func Write(dir string, payload Payload) (changed bool, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	old, err := os.Readlink(filepath.Join(dir, current))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if old != "" && same(filepath.Join(dir, old), payload) {
		return false, nil
	}
	stamp, err := os.MkdirTemp(dir, ".."+time.Now().UTC().Format("2006_01_02_15_04_05."))
	if err != nil {
		return false, err
	}
	if err := writeFiles(stamp, payload); err != nil {
		return false, errors.Join(err, os.RemoveAll(stamp))
	}
	if err := swap(dir, filepath.Base(stamp)); err != nil {
		return false, errors.Join(err, os.RemoveAll(stamp))
	}
	if err := linkNames(dir, payload); err != nil {
		return true, err
	}
	if old != "" {
		return true, os.RemoveAll(filepath.Join(dir, old))
	}
	return true, nil
}

func writeFiles(stamp string, payload Payload) error {
	if err := os.Chmod(stamp, 0o755); err != nil {
		return err
	}
	for name, file := range payload {
		if err := checkName(name); err != nil {
			return err
		}
		path := filepath.Join(stamp, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, file.Data, file.Mode); err != nil {
			return err
		}
		if err := os.Chmod(path, file.Mode); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

func checkName(name string) error {
	if !filepath.IsLocal(name) || strings.HasPrefix(name, "..") {
		return fmt.Errorf("volume path %q leaves the volume", name)
	}
	return nil
}

// swap points ..data at the new directory in one step.
func swap(dir, stamp string) error {
	temporary := filepath.Join(dir, "..data_tmp")
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(stamp, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(dir, current))
}

// linkNames makes the visible names follow the payload's top-level entries.
func linkNames(dir string, payload Payload) error {
	wanted := map[string]bool{}
	for name := range payload {
		top, _, _ := strings.Cut(name, "/")
		wanted[top] = true
	}
	for top := range wanted {
		err := os.Symlink(filepath.Join(current, top), filepath.Join(dir, top))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") || wanted[e.Name()] || e.Type()&fs.ModeSymlink == 0 {
			continue // a directory here is the mount point of a nested volume
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// same compares what lies in dir with the payload.
func same(dir string, payload Payload) bool {
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		file, wanted := payload[name]
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !wanted || info.Mode().Perm() != file.Mode.Perm() || !bytes.Equal(data, file.Data) {
			return fs.SkipAll
		}
		seen++
		return nil
	})
	return err == nil && seen == len(payload)
}
