package volume

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func payload(pairs ...string) Payload {
	p := Payload{}
	for i := 0; i < len(pairs); i += 2 {
		p[pairs[i]] = File{Data: []byte(pairs[i+1]), Mode: 0o640}
	}
	return p
}

func mustWrite(t *testing.T, dir string, p Payload) bool {
	t.Helper()
	changed, err := Write(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestWriteShowsExactlyThePayload(t *testing.T) {
	dir := t.TempDir()
	if !mustWrite(t, dir, payload("a", "1", "sub/b", "2")) {
		t.Error("the first write changed nothing")
	}
	if read(t, dir+"/a") != "1" || read(t, dir+"/sub/b") != "2" {
		t.Error("wrong content")
	}
	if info, err := os.Stat(dir + "/a"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if mustWrite(t, dir, payload("a", "1", "sub/b", "2")) {
		t.Error("the same payload changed something")
	}
	if !mustWrite(t, dir, payload("a", "3", "c", "4")) {
		t.Error("another payload changed nothing")
	}
	if read(t, dir+"/a") != "3" || read(t, dir+"/c") != "4" {
		t.Error("wrong content after the update")
	}
	if _, err := os.Lstat(dir + "/sub"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a removed key is still there: %v", err)
	}
	stamps, err := filepath.Glob(dir + "/..2*")
	if err != nil || len(stamps) != 1 {
		t.Errorf("left behind: %v, %v", stamps, err)
	}
}

func TestWriteNoticesAModeChange(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, Payload{"a": {Data: []byte("1"), Mode: 0o644}})
	if !mustWrite(t, dir, Payload{"a": {Data: []byte("1"), Mode: 0o600}}) {
		t.Error("a new mode changed nothing")
	}
}

func TestWriteRefusesPathsOutOfTheVolume(t *testing.T) {
	for _, name := range []string{"../a", "/a", "..data", "a/../../b"} {
		if _, err := Write(t.TempDir(), payload(name, "x")); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}

// A reader that opens the directory behind ..data must never see one new and one
// old file.
func TestReadersSeeOldOrNewButNoMixture(t *testing.T) {
	dir := t.TempDir()
	versions := []Payload{payload("cert", "one", "key", "one"), payload("cert", "two", "key", "two")}
	mustWrite(t, dir, versions[0])
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				if _, err := Write(dir, versions[i%2]); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	pairs := 0
	for range 500 {
		now, err := os.Readlink(filepath.Join(dir, "..data"))
		if err != nil {
			t.Fatal(err)
		}
		cert, err1 := os.ReadFile(filepath.Join(dir, now, "cert"))
		key, err2 := os.ReadFile(filepath.Join(dir, now, "key"))
		if err1 != nil || err2 != nil {
			continue // replaced while being read
		}
		pairs++
		if string(cert) != string(key) {
			t.Fatalf("cert %q with key %q", cert, key)
		}
	}
	close(stop)
	writer.Wait()
	if pairs == 0 {
		t.Error("not one pair was read")
	}
}
