package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A second copy of this test program plays the parent that dies.
func TestMain(m *testing.M) {
	if os.Getenv("CHILD_TEST_PARENT") == "1" {
		p, err := Start(Command{Name: "sleep", Path: "/bin/sleep", Args: []string{"600"}})
		if err != nil {
			os.Exit(3)
		}
		_, _ = os.Stdout.WriteString(strconv.Itoa(p.PID()) + "\n")
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

func TestAChildDiesWithAParentThatIsKilled(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "CHILD_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 32)
	n, _ := out.Read(buf)
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for deadline := time.Now().Add(5 * time.Second); running(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the child outlived its parent")
		}
	}
}

// running is false for a zombie that nobody has waited for yet.
func running(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestStopKillsAChildThatDoesNotListen(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := Start(Command{Name: "stubborn", Path: "/bin/sh", Log: log,
		Args: []string{"-c", `trap "" TERM; echo ready; while :; do sleep 0.05; done`}})
	if err != nil {
		t.Fatal(err)
	}
	for p.Tail(1) != "ready" {
		if !p.Alive() {
			t.Fatal("ended early")
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.Stop(50 * time.Millisecond)
	if p.Alive() || !p.Killed() {
		t.Errorf("alive %v, killed %v: %v", p.Alive(), p.Killed(), p.Err())
	}
}
