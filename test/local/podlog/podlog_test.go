package podlog

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func write(t *testing.T, path, content string, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	old, now := filepath.Join(dir, "ns_etcd-0_zzz"), filepath.Join(dir, "ns_etcd-0_aaa")
	write(t, filepath.Join(old, "etcd", "11.log"), "", time.Hour)
	for run, name := range []string{"0", "9", "10"} {
		write(t, filepath.Join(now, "etcd", name+".log"), "", time.Duration(10-run)*time.Minute)
	}
	write(t, filepath.Join(dir, "ns_etcd-01_bbb", "etcd", "0.log"), "", 0)
	for _, c := range []struct {
		uid      string
		previous bool
		want     string
	}{
		{"", false, filepath.Join(now, "etcd", "10.log")},
		{"", true, filepath.Join(now, "etcd", "9.log")},
		{"zzz", false, filepath.Join(old, "etcd", "11.log")},
		{"none", false, ""},
	} {
		if got := Find(dir, "ns", "etcd-0", c.uid, "etcd", c.previous); got != c.want {
			t.Errorf("Find(uid %q, previous %v) = %s, want %s", c.uid, c.previous, got, c.want)
		}
	}
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "0.log")
	write(t, file, "one\ntwo\nthree\n", 0)
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{}, "one\ntwo\nthree\n"}, {Options{Tail: 1}, "three\n"}, {Options{Tail: 2}, "two\nthree\n"},
		{Options{Tail: 9}, "one\ntwo\nthree\n"}, {Options{LimitBytes: 5}, "one\nt"},
	} {
		r, err := Open(t.Context(), file, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %q, %v; want %q", c.opts, got, err, c.want)
		}
		_ = r.Close()
	}
}
