package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The program gets what the file says at that moment, and its end is ours.
func TestTheProgramGetsSIGTERMOrSIGKILL(t *testing.T) {
	for text, want := range map[string]int{"kept": 128 + int(syscall.SIGTERM), "lost\n": 128 + int(syscall.SIGKILL), "": 128 + int(syscall.SIGTERM)} {
		file := filepath.Join(t.TempDir(), "grace")
		if err := os.WriteFile(file, []byte("something else"), 0o644); err != nil {
			t.Fatal(err)
		}
		ours := make(chan os.Signal, 1) // or a signal that comes too early would end the test
		signal.Notify(ours, syscall.SIGTERM)
		code := make(chan int)
		go func() {
			n, err := run(file, []string{"sleep", "60"})
			if err != nil {
				t.Error(err)
			}
			code <- n
		}()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := signalled(t, code); got != want {
			t.Errorf("%q: ended with %d, want %d", text, got, want)
		}
		signal.Stop(ours)
	}
}

// signalled sends SIGTERM until the program has ended.
func signalled(t *testing.T, code <-chan int) int {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case n := <-code:
			return n
		case <-deadline:
			t.Fatal("the program does not end")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestAProgramThatEndsByItselfKeepsItsCode(t *testing.T) {
	if n, err := run("/nowhere", []string{"sh", "-c", "exit 7"}); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := run("/nowhere", []string{"/no/such/program"}); n != 1 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}
