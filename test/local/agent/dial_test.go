package agent

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

func TestDialWaitsForAListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if conn, err := dialPatiently(short, "tcp", address); err == nil || short.Err() == nil {
		t.Fatalf("gave up before its context: %v, %v", conn, err)
	}
	dialled := make(chan error, 1)
	go func() {
		conn, err := dialPatiently(t.Context(), "tcp", address)
		if err == nil {
			err = conn.Close()
		}
		dialled <- err
	}()
	select {
	case err := <-dialled:
		t.Fatalf("came back without a listener: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	l, err = net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	select {
	case err := <-dialled:
		if err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("does not notice the listener")
	}
}
