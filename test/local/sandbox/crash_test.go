package sandbox

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/local/proc"
)

func TestContainerDiesWithItsAgent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.Command(self, crashCommand, t.TempDir())
	stdout, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatalf("the agent said %q", line[:n])
	}
	record, err := proc.Observe("container", pid)
	if err != nil || !record.Alive() {
		t.Fatalf("the container does not run: %v", err)
	}
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	for deadline := time.Now().Add(5 * time.Second); record.Alive(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the container outlived its agent")
		}
	}
}
