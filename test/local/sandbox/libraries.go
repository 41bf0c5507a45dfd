package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Programs should be linked statically, but one that is not (a Go program built
// with cgo, this one included) finds the host's libraries where it expects them.
var libraries = []string{"/usr/lib", "/usr/lib64", "/lib", "/lib64"}

func libraryMounts() []Mount {
	var out []Mount
	for _, dir := range libraries {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			out = append(out, Mount{Source: dir, Target: dir, ReadOnly: true})
		}
	}
	return out
}

// linkLibraries copies those library directories that are links on the host.
func linkLibraries(root string) error {
	for _, dir := range libraries {
		target, err := os.Readlink(dir)
		if err != nil {
			continue // a directory, or not there
		}
		err = os.Symlink(target, filepath.Join(root, dir))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
