// Command graceless is the first process of the bench's etcd containers. It runs
// a program and passes SIGTERM on to it, or, if the file says "lost", sends it
// SIGKILL instead: what becomes of a member whose node fails or whose grace has
// run out. The template is the same either way, so that no pod is replaced to
// change between the two.
//
//	graceless FILE PROGRAM ARGUMENT...
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "graceless: no program")
		os.Exit(2)
	}
	code, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "graceless:", err)
	}
	os.Exit(code)
}

func run(file string, command []string) (int, error) {
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	go func() {
		<-ends
		with := farewell(file)
		fmt.Fprintln(os.Stderr, "graceless: the program gets", with)
		_ = cmd.Process.Signal(with) // it may have ended by itself
	}()
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		return 128 + int(exit.Sys().(syscall.WaitStatus).Signal()), nil
	default:
		return 1, err
	}
}

func farewell(file string) syscall.Signal {
	if text, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(text)) == "lost" {
		return syscall.SIGKILL
	}
	return syscall.SIGTERM
}
