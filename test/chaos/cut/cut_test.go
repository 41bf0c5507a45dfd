package cut

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain serves echoes where this program is started as the child that is
// cut off.
func TestMain(m *testing.M) {
	if os.Getenv("ETCDROLL_CUT_ECHO") != "" {
		echo()
		return
	}
	os.Exit(m.Run())
}

func echo() {
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		println(l.Addr().String())
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { _, _ = bufio.NewReader(c).WriteTo(c) }()
			}
		}()
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent is gone
}

func answers(t *testing.T, address string, within time.Duration) bool {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, within)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(within))
	if _, err := c.Write([]byte("a")); err != nil {
		return false
	}
	_, err = c.Read(make([]byte, 1))
	return err == nil
}

func child(t *testing.T, room string) []string {
	t.Helper()
	own := filepath.Join(room, "child")
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := os.Open(own)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fd.Close() })
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "ETCDROLL_CUT_ECHO=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(fd.Fd()), Pdeathsig: syscall.SIGKILL}
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StderrPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	lines, found := bufio.NewScanner(out), []string{}
	for len(found) < 2 && lines.Scan() {
		found = append(found, strings.TrimSpace(lines.Text()))
	}
	if len(found) < 2 {
		t.Fatal("the child does not listen")
	}
	return found
}

// Only the child is cut, only while the cut is in force, and never its spared
// port.
func TestACutDropsAllButTheSparedPort(t *testing.T) {
	room, remove, err := Room()
	if err != nil {
		t.Skip("members cannot be cut off here: ", err)
	}
	t.Cleanup(remove)
	addresses := child(t, room)
	cutOff, spared := addresses[0], addresses[1]
	if !answers(t, cutOff, time.Second) || !answers(t, spared, time.Second) {
		t.Fatal("the child does not answer before the cut")
	}
	tcp, err := net.ResolveTCPAddr("tcp", spared)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Start(filepath.Join(room, "child"), All, uint16(tcp.Port))
	if err != nil {
		t.Fatal(err)
	}
	if answers(t, cutOff, 300*time.Millisecond) {
		t.Error("it answers although it is cut off")
	}
	if !answers(t, spared, time.Second) {
		t.Error("the spared port is cut as well")
	}
	f.Stop()
	if !answers(t, cutOff, 2*time.Second) {
		t.Error("it does not answer after the cut")
	}
}
