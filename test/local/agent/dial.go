package agent

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// dialPatiently connects to the API server. While nobody listens it waits
// instead of failing: client-go's watches answer failures with pauses of up to
// half a minute, and after a restart of the API server pods would wait for that.
func dialPatiently(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	for {
		conn, err := dialer.DialContext(ctx, network, address)
		if !errors.Is(err, unix.ECONNREFUSED) || !sleep(ctx, 100*time.Millisecond) {
			return conn, err
		}
	}
}
