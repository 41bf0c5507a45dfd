package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// room is a network namespace, and the one thread that is in it.
type room struct {
	tasks chan func()
}

const dialWithin = 2 * time.Second

// open makes a room. Everything that opens a socket in it, or starts a program,
// runs on the thread that it was made by.
func open(hosts string) (*room, error) {
	r := &room{tasks: make(chan func())}
	made := make(chan error)
	go func() {
		runtime.LockOSThread()
		made <- enter(hosts)
		for task := range r.tasks {
			task()
		}
	}()
	return r, <-made
}

func (r *room) inside(task func()) {
	done := make(chan struct{})
	r.tasks <- func() { defer close(done); task() }
	<-done
}

func enter(hosts string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network name space: %w", err)
	}
	// 10.0.0.0/8 is local too: it stands for pods in Endpoints, which may not hold
	// loopback addresses.
	if err := address("lo:1", "10.0.0.1", "255.0.0.0"); err != nil {
		return err
	}
	if hosts == "" {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount name space: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	if err := unix.Mount(hosts, "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", hosts, err)
	}
	return nil
}

// address brings the loopback interface up and gives it a second address. On a
// loopback interface all addresses of the net are local.
func address(name, ip, mask string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, up); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	for _, s := range []struct {
		request uint
		value   string
	}{{unix.SIOCSIFADDR, ip}, {unix.SIOCSIFNETMASK, mask}} {
		set, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		octets := netip.MustParseAddr(s.value).As4()
		if err := set.SetInet4Addr(octets[:]); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(socket, s.request, set); err != nil {
			return fmt.Errorf("give loopback the address %s: %w", s.value, err)
		}
	}
	return nil
}

// join opens the way and keeps passing connections.
func (r *room) join(w way) error {
	var l net.Listener
	var err error
	listen := func() { l, err = net.Listen("tcp4", w.listen) }
	if w.inward {
		listen()
	} else {
		r.inside(listen)
	}
	if err != nil {
		return err
	}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go r.pass(w, from)
		}
	}()
	return nil
}

func (r *room) pass(w way, from net.Conn) {
	defer func() { _ = from.Close() }()
	to, err := r.dial(w, from)
	if err != nil {
		// The nearest to a refused connection, now that it was accepted.
		_ = from.(*net.TCPConn).SetLinger(0)
		return
	}
	defer func() { _ = to.Close() }()
	var both sync.WaitGroup
	both.Go(func() { half(to, from) })
	both.Go(func() { half(from, to) })
	both.Wait()
}

func (r *room) dial(w way, from net.Conn) (to net.Conn, err error) {
	if w.inward {
		r.inside(func() { to, err = net.DialTimeout("tcp4", w.to, dialWithin) })
		return to, err
	}
	target, err := w.outside(from.LocalAddr())
	if err != nil {
		return nil, err
	}
	return net.DialTimeout("tcp4", target, dialWithin)
}

// half copies one direction and passes its end on. After an error nothing more
// can come of the other direction either.
func half(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		return
	}
	_ = to.(*net.TCPConn).CloseWrite()
}

// live runs the program until it ends, hands signals on, and gives its exit code.
func (r *room) live(command, env []string) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, append(os.Environ(), env...)
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	var err error
	r.inside(func() { err = cmd.Start() })
	if err != nil {
		return 1, err
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	default:
		return 1, err
	}
}
