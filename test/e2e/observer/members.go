package observer

import (
	"context"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdroll/etcdroll/test/e2e/access"
)

// Sample is one answer of one member, or that there was none.
type Sample struct {
	At      time.Time // when it answered, or when it was asked in vain
	Index   int
	Down    bool // it cannot be reached
	Slow    bool // it did not answer in time, or not before it knows us
	ID      uint64
	Leader  uint64
	Term    uint64
	Applied uint64
	Version string
}

// Answered says that the sample holds a reading.
func (s Sample) Answered() bool { return !s.Down && !s.Slow }

const (
	pollEvery  = 40 * time.Millisecond
	answerTime = 2 * time.Second
)

// poll asks one member until the context ends. The connection is made anew
// whenever the pod is another one.
func (o *Observer) poll(ctx context.Context, index int) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var connection *grpc.ClientConn
	var connected PodState
	defer func() { closeConnection(connection) }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		pod := o.Pod(index)
		if pod.IP == "" || pod.Gone {
			if connected.UID != "" { // there was a member before
				o.keep(ctx, Sample{At: time.Now(), Index: index, Down: true})
			}
			continue
		}
		if connection == nil || pod.UID != connected.UID || pod.IP != connected.IP {
			closeConnection(connection)
			connection, connected = dial(pod.IP, o.members), pod
		}
		if connection != nil {
			o.keep(ctx, sample(ctx, connection, index))
		}
	}
}

// keep drops what was only cut short by the end of watching.
func (o *Observer) keep(ctx context.Context, s Sample) {
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.samples = append(o.samples, s)
}

// dial uses bare gRPC: client/v3 dials anew for every Status and waits for the
// connection, which hides a member that is down. It reconnects quickly, since
// the usual backoff would take a member for down for seconds after it is back.
func dial(ip string, members access.Access) *grpc.ClientConn {
	options := append(members.DialOptions(), grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 30 * time.Millisecond, Multiplier: 1.2, MaxDelay: 100 * time.Millisecond},
		MinConnectTimeout: time.Second}))
	connection, err := grpc.NewClient(fmt.Sprintf("passthrough:///%s:2379", ip), options...)
	if err != nil {
		return nil
	}
	return connection
}

func closeConnection(c *grpc.ClientConn) {
	if c != nil {
		_ = c.Close()
	}
}

func sample(ctx context.Context, connection *grpc.ClientConn, index int) Sample {
	s := Sample{At: time.Now(), Index: index}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answer, err := pb.NewMaintenanceClient(connection).Status(ctx, &pb.StatusRequest{})
	switch {
	case err == nil:
		s.At = time.Now()
		s.ID, s.Leader, s.Term = answer.Header.MemberId, answer.Leader, answer.RaftTerm
		s.Applied, s.Version = answer.RaftAppliedIndex, answer.Version
	case status.Code(err) == codes.DeadlineExceeded, access.Refused(err):
		s.Slow = true
	default:
		s.Down = true
	}
	return s
}
