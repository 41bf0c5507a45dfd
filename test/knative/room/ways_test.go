package main

import (
	"net"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestParse(t *testing.T) {
	ways, err := parse([]string{"127.201.0.2:443=8443", "127.201.0.2:8012"}, []string{"6443", "18012=8012", "8080=127.16.0.9:8080"})
	if err != nil {
		t.Fatal(err)
	}
	want := []way{
		{inward: true, listen: "127.201.0.2:443", to: "127.0.0.1:8443"},
		{inward: true, listen: "127.201.0.2:8012", to: "127.0.0.1:8012"},
		{listen: ":6443", to: ":6443"}, {listen: ":18012", to: ":8012"}, {listen: ":8080", to: "127.16.0.9:8080"},
	}
	if !reflect.DeepEqual(ways, want) {
		t.Errorf("%+v\nwant %+v", ways, want)
	}
	for _, bad := range []string{"", "=80", "80="} {
		if _, err := parse(nil, []string{bad}); err == nil {
			t.Errorf("way out %q is taken", bad)
		}
	}
}

// Outside, what was dialled is its own loopback address, whether it was written as
// one or as Endpoints have it.
func TestOutside(t *testing.T) {
	for _, c := range []struct{ to, dialled, want string }{
		{":6443", "127.0.0.1:6443", "127.0.0.1:6443"},
		{":8012", "10.16.3.7:18012", "127.16.3.7:8012"},
		{"127.16.0.9:8080", "127.0.0.1:8080", "127.16.0.9:8080"},
	} {
		local, err := net.ResolveTCPAddr("tcp4", c.dialled)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := (way{to: c.to}).outside(local); err != nil || got != c.want {
			t.Errorf("%s dialled, to %s: %q, %v, want %q", c.dialled, c.to, got, err, c.want)
		}
	}
}

func TestPodAddress(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte("127.0.0.1 localhost\n127.16.0.9 "+name+" "+name+".etcd\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := podAddress(file); err != nil || got != "127.16.0.9" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := podAddress(file); err == nil {
		t.Errorf("without a line: %q", got)
	}
}
