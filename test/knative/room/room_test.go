package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests run this program as room, and as the program in the room.
func TestMain(m *testing.M) {
	switch os.Getenv("ROOM_TEST") {
	case "room":
		if err := os.Setenv("ROOM_TEST", "guest"); err != nil {
			panic(err)
		}
		main()
	case "guest":
		guest()
	default:
		os.Exit(m.Run())
	}
}

// guest takes a port that is taken outside, says what it reads through the way
// out, and ends with 7 when it is told to.
func guest() {
	l, err := net.Listen("tcp4", ":"+os.Getenv("GUEST_PORT"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("reads", fetch(os.Getenv("GUEST_READS")))
	conn, err := l.Accept()
	if err != nil {
		os.Exit(1)
	}
	_, _ = io.WriteString(conn, "from inside")
	_ = conn.Close()
	os.Exit(7)
}

func fetch(address string) string {
	conn, err := net.DialTimeout("tcp4", address, 5*time.Second)
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// A room's program listens on a port that is taken outside, is reached through the
// way in, reaches out through the way out by an address that stands for loopback,
// and its exit code is the room's.
func TestARoom(t *testing.T) {
	outside, err := net.Listen("tcp4", "127.0.0.9:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outside.Close() }()
	go func() {
		for {
			conn, err := outside.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "from outside")
			_ = conn.Close()
		}
	}()
	_, port, err := net.SplitHostPort(outside.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-in=127.0.0.8:"+port, "-out=9="+port, "-env=GUEST_READS=10.0.0.9:9", "--", os.Args[0])
	cmd.Env = append(os.Environ(), "ROOM_TEST=room", "GUEST_PORT="+port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(said).ReadString('\n')
	if strings.Contains(line, "operation not permitted") {
		t.Skip("no right to make network name spaces here")
	}
	if line != "reads from outside\n" {
		t.Errorf("the program says %q", line)
	}
	if got := fetch("127.0.0.8:" + port); got != "from inside" {
		t.Errorf("through the way in: %q", got)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the room ends with %v, want exit status 7", err)
	}
}
