package etcdset

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/test/e2e/access"
)

// Endpoints are the client addresses of the pods that have one now, by index.
func (s *Set) Endpoints(ctx context.Context) (map[int]string, error) {
	found := map[int]string{}
	for i := range s.Replicas {
		pod, err := s.Client.CoreV1().Pods(s.Namespace).Get(ctx, s.PodName(i), metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("find members: %w", err)
		}
		if pod.Status.PodIP != "" {
			found[i] = s.Access.URL(fmt.Sprintf("%s:%d", pod.Status.PodIP, ClientPort))
		}
	}
	return found, nil
}

// LeadWith moves leadership to the member of this index and returns once all
// members name it.
func (s *Set) LeadWith(ctx context.Context, index int) error {
	endpoints, err := s.Endpoints(ctx)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		now, err := ask(ctx, s.Access, endpoints)
		if err == nil && now.leader == index {
			return nil
		}
		if err == nil {
			err = now.move(ctx, s.Access, endpoints[now.leader], index)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("leadership does not get to %s: %w", s.PodName(index), err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// MoveOnce asks the present leader once to hand over to the member of this
// index. It says whether that was asked for: not when the member leads already,
// or when the members could not be asked who does.
func (s *Set) MoveOnce(ctx context.Context, index int) (asked bool, err error) {
	endpoints, err := s.Endpoints(ctx)
	if err != nil {
		return false, err
	}
	now, err := ask(ctx, s.Access, endpoints)
	if err != nil || now.leader == index {
		return false, err
	}
	if now.ids[index] == 0 {
		return false, fmt.Errorf("%s has no address", s.PodName(index))
	}
	return true, now.move(ctx, s.Access, endpoints[now.leader], index)
}

// leadership is who leads, in everybody's view.
type leadership struct {
	leader int
	ids    map[int]uint64
}

func ask(ctx context.Context, a access.Access, endpoints map[int]string) (leadership, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	l, named := leadership{leader: -1, ids: map[int]uint64{}}, uint64(0)
	for i, endpoint := range endpoints {
		status, err := withClient(a, endpoint, func(c *clientv3.Client) (*clientv3.StatusResponse, error) { return c.Status(ctx, endpoint) })
		if err != nil {
			return l, fmt.Errorf("ask member %d: %w", i, err)
		}
		if status.Leader == 0 || (named != 0 && named != status.Leader) {
			return l, fmt.Errorf("members do not agree on who leads")
		}
		named, l.ids[i] = status.Leader, status.Header.MemberId
		if status.Header.MemberId == status.Leader {
			l.leader = i
		}
	}
	if l.leader < 0 {
		return l, fmt.Errorf("the leader %x is not among the pods", named)
	}
	return l, nil
}

func (l leadership) move(ctx context.Context, a access.Access, leader string, to int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := withClient(a, leader, func(c *clientv3.Client) (*clientv3.MoveLeaderResponse, error) { return c.MoveLeader(ctx, l.ids[to]) })
	return err
}

func withClient[T any](a access.Access, endpoint string, call func(*clientv3.Client) (T, error)) (T, error) {
	client, err := clientv3.New(a.Config(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: time.Second, Logger: zap.NewNop()}))
	if err != nil {
		var none T
		return none, err
	}
	defer func() { _ = client.Close() }()
	return call(client)
}

// Leader is the index of the member that all members name as their leader.
func (s *Set) Leader(ctx context.Context) (int, error) {
	endpoints, err := s.Endpoints(ctx)
	if err != nil {
		return -1, err
	}
	now, err := ask(ctx, s.Access, endpoints)
	return now.leader, err
}
