package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/etcdroll/etcdroll/test/local/podtool"
	"github.com/etcdroll/etcdroll/test/local/proc"
)

const crashCommand = "start-one-and-wait"

// The test binary plays an agent that crashes; importing inside and podtool makes
// it container-init and the containers' program too.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == crashCommand {
		p, err := Start(baseSpec(os.Args[2], "pause"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		select {}
	}
	os.Exit(m.Run())
}

func baseSpec(dir string, args ...string) Spec {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Spec{
		Name: "test", Root: filepath.Join(dir, "root"), Hostname: "box-0",
		Programs: map[string]string{"tool": self},
		Argv:     append([]string{"tool", podtool.Command}, args...),
		Dir:      "/", Log: filepath.Join(dir, "log"), RunDir: filepath.Join(dir, "run"),
	}
}

func start(t *testing.T, spec Spec) *Process {
	t.Helper()
	p, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Signal(unix.SIGKILL)
		<-p.Done()
	})
	return p
}

func waitExit(t *testing.T, p *Process) Exit {
	t.Helper()
	select {
	case <-p.Done():
		return p.Exit()
	case <-time.After(20 * time.Second):
		t.Fatal("the container did not end")
		return Exit{}
	}
}

func waitLog(t *testing.T, spec Spec, text string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if content, _ := os.ReadFile(spec.Log); strings.Contains(string(content), text) {
			return
		}
	}
	content, _ := os.ReadFile(spec.Log)
	t.Fatalf("log does not say %q but %q", text, content)
}

func TestExitCodeIsTheProgramsOwn(t *testing.T) {
	p := start(t, baseSpec(t.TempDir(), "exit", "7"))
	if exit := waitExit(t, p); exit.Code != 7 || exit.Signal != 0 {
		t.Errorf("exit = %+v, want code 7", exit)
	}
}

func TestTermEndsAProgramThatHandlesIt(t *testing.T) {
	spec := baseSpec(t.TempDir(), "pause")
	p := start(t, spec)
	waitLog(t, spec, "pausing")
	p.Signal(unix.SIGTERM)
	if exit := waitExit(t, p); exit.Code != 0 || exit.Signal != 0 {
		t.Errorf("exit = %+v, want code 0", exit)
	}
}

func TestOnlyKillEndsAStubbornProgram(t *testing.T) {
	spec := baseSpec(t.TempDir(), "stubborn")
	p := start(t, spec)
	waitLog(t, spec, "ignoring")
	p.Signal(unix.SIGTERM)
	select {
	case <-p.Done():
		t.Fatalf("ended by SIGTERM: %+v", p.Exit())
	case <-time.After(200 * time.Millisecond):
	}
	p.Signal(unix.SIGKILL)
	if exit := waitExit(t, p); exit.Code != 137 || exit.Signal != 9 {
		t.Errorf("exit = %+v, want 137 by signal 9", exit)
	}
}

func TestContainerSeesItsVolumesAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "hello"), []byte("from the volume"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := baseSpec(dir, "cat", "/var/lib/etcd/hello", "/etc/hostname", "/proc/sys/kernel/hostname")
	spec.Mounts = []Mount{{Source: data, Target: "/var/lib/etcd", ReadOnly: true}}
	spec.Files = map[string]string{"etc/hostname": "a-file\n"}
	if exit := waitExit(t, start(t, spec)); exit.Code != 0 {
		t.Fatalf("exit = %+v", exit)
	}
	waitLog(t, spec, "from the volumea-file\nbox-0")

	hostFile := filepath.Join(dir, "data", "hello")
	if exit := waitExit(t, start(t, baseSpec(t.TempDir(), "cat", hostFile))); exit.Code != 1 {
		t.Errorf("the container could read %s on the host", hostFile)
	}
	if entries, err := os.ReadDir(filepath.Join(spec.Root, "var/lib/etcd")); err != nil || len(entries) != 0 {
		t.Errorf("the host sees %v (%v) in the mount point: the mount is not private", entries, err)
	}
}

func TestStartErrors(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"no such program":           func(s *Spec) { s.Argv = []string{"no-such-program"} },
		"no such program, absolute": func(s *Spec) { s.Argv = []string{"/bin/no-such-program"} },
		"no such working directory": func(s *Spec) { s.Dir = "/nowhere" },
		"no such volume":            func(s *Spec) { s.Mounts = []Mount{{Source: "/no/such/volume", Target: "/data"}} },
	} {
		spec := baseSpec(t.TempDir(), "pause")
		change(&spec)
		p, err := Start(spec)
		var start *StartError
		if !errors.As(err, &start) {
			t.Errorf("%s: err = %v, want a StartError", name, err)
		}
		if err == nil {
			p.Signal(unix.SIGKILL)
		}
	}
}

func TestExecRunsInsideTheContainer(t *testing.T) {
	spec := baseSpec(t.TempDir(), "pause")
	spec.Files = map[string]string{"etc/present": "inside"}
	p := start(t, spec)
	if !privileged() {
		if _, err := p.Exec(t.Context(), []string{"tool"}, Streams{}); err == nil || !strings.Contains(err.Error(), "needs root") {
			t.Errorf("without root: err = %v", err)
		}
		return
	}
	for file, want := range map[string]int{"/etc/present": 0, "/etc/absent": 1} {
		code, err := p.Exec(t.Context(), []string{"tool", podtool.Command, "test", file}, Streams{})
		if err != nil || code != want {
			t.Errorf("test %s = %d, %v; want %d", file, code, err, want)
		}
	}
	var out bytes.Buffer
	if _, err := p.Exec(t.Context(), []string{"tool", podtool.Command, "cat", "/etc/present"}, Streams{Out: &out}); err != nil || out.String() != "inside" {
		t.Errorf("cat = %q, %v", out.String(), err)
	}
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := p.Exec(short, []string{"tool", podtool.Command, "pause"}, Streams{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command that does not end: err = %v", err)
	}
}

func TestRecordLivesAsLongAsTheContainer(t *testing.T) {
	spec := baseSpec(t.TempDir(), "pause")
	p := start(t, spec)
	record, err := proc.Read(spec.RunDir, spec.Name)
	if err != nil || !record.Alive() || record.PID != p.PID() {
		t.Fatalf("record = %+v, %v", record, err)
	}
	p.Signal(unix.SIGKILL)
	waitExit(t, p)
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(spec.RunDir, spec.Name+".json")); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the record is still there")
		}
	}
}

// Sockets belong to the cgroup in which they are born, so the container must be
// in it from the start, and the cgroup goes with the container.
func TestAContainerGetsACgroupOfItsOwn(t *testing.T) {
	const mount = "/sys/fs/cgroup"
	top := ""
	for _, dir := range []string{mount, mount + "/unified"} {
		if _, err := os.Stat(dir + "/cgroup.procs"); err == nil {
			top = dir
		}
	}
	if top == "" {
		t.Skip("there are no cgroups of the second version")
	}
	room, err := os.MkdirTemp(top, "etcdroll-sandbox-")
	if err != nil {
		t.Skip("cgroups are not ours to make: ", err)
	}
	t.Cleanup(func() { _ = os.Remove(room) })
	spec := baseSpec(t.TempDir(), "pause")
	spec.Cgroup = room
	p := start(t, spec)
	member, err := os.ReadFile(filepath.Join(room, spec.Name, "cgroup.procs"))
	if err != nil || strings.TrimSpace(string(member)) != fmt.Sprint(p.PID()) {
		t.Errorf("in the cgroup are %q (%v), want %d", member, err, p.PID())
	}
	p.Signal(unix.SIGKILL)
	<-p.Done()
	if _, err := os.Stat(filepath.Join(room, spec.Name)); !os.IsNotExist(err) {
		t.Errorf("the cgroup is left: %v", err)
	}
}
