package fault

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/test/chaos/cut"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/chaos/stage"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// aim finds the member that is meant, and its pod.
func (b *base) aim(s *stage.Stage) (observer.PodState, error) {
	index := b.Whom
	if index == plan.Leader {
		if index = leader(s); index < 0 {
			return observer.PodState{}, errors.New("nobody knows who leads")
		}
	}
	pod := s.Observer.Pod(index)
	if pod.UID == "" || pod.Gone || pod.Terminating {
		return pod, fmt.Errorf("pod %d is away", index)
	}
	b.trace.Member, b.trace.UID = index, pod.UID
	return pod, nil
}

func leader(s *stage.Stage) int {
	for i := range s.Shape.Members {
		if last, answers := s.Observer.Member(i); answers && last.Leader != 0 && last.Leader == last.ID {
			return i
		}
	}
	return -1
}

// freezeMember stops a member with SIGSTOP.
type freezeMember struct {
	base
	s *stage.Stage
}

func (f *freezeMember) Inject(ctx context.Context) error {
	pod, err := f.aim(f.s)
	if err != nil {
		return err
	}
	return f.signal(ctx, pod.Index, "STOP")
}

// Heal goes on with whatever container the pod has: a member that was frozen
// while its pod was deleted is the same process still.
func (f *freezeMember) Heal(ctx context.Context) error {
	if err := f.signal(ctx, f.trace.Member, "CONT"); err != nil {
		f.trace.Note = err.Error() // it has been replaced meanwhile
	}
	return nil
}

func (f *freezeMember) signal(ctx context.Context, index int, name string) error {
	return f.s.Cluster.Command(ctx, "kill", f.s.Namespace+"/"+f.s.Set.PodName(index), "--signal="+name)
}

// metricsPort is where the kubelet's probes go; they come from the member's own
// node and are not cut.
const metricsPort = 2381

// cutMember cuts a member off, or loses a share of its packets.
type cutMember struct {
	base
	s      *stage.Stage
	filter *cut.Filter
}

func (f *cutMember) Inject(context.Context) error {
	if f.s.Cgroup == "" {
		return errors.New("members cannot be cut off on this machine")
	}
	pod, err := f.aim(f.s)
	if err != nil {
		return err
	}
	loss := int32(cut.All)
	if f.Kind == plan.Slow {
		loss = int32(f.Count)
	}
	name := fmt.Sprintf("%s_%s_etcd", f.s.Namespace, f.s.Set.PodName(pod.Index))
	f.filter, err = cut.Start(filepath.Join(f.s.Cgroup, name), loss, metricsPort)
	return err
}

func (f *cutMember) Heal(context.Context) error {
	f.filter.Stop()
	return nil
}

// moveLeader is somebody else who moves leadership.
type moveLeader struct {
	base
	s *stage.Stage
}

const moveWithin = 5 * time.Second

func (f *moveLeader) Inject(ctx context.Context) error {
	return insist(ctx, moveWithin, func() error {
		f.trace.Member, f.trace.From = f.Whom, time.Now()
		asked, err := f.s.Set.MoveOnce(ctx, f.Whom)
		switch {
		case asked && err != nil:
			// It may have come about all the same.
			f.trace.Note = err.Error()
			return nil
		case !asked && err == nil:
			return fmt.Errorf("member %d leads already", f.Whom)
		}
		return err
	})
}

// evict asks the eviction API to end a pod until it agrees, or for a while.
type evict struct {
	base
	s *stage.Stage
}

func (f *evict) Inject(ctx context.Context) error {
	tries := 0
	err := insist(ctx, f.Every, func() error {
		pod, err := f.aim(f.s)
		if err != nil {
			return err
		}
		tries++
		f.trace.From = time.Now()
		uid := types.UID(pod.UID)
		return f.s.Cluster.Client.PolicyV1().Evictions(f.s.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: f.s.Namespace, Name: f.s.Set.PodName(pod.Index)},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
		})
	})
	f.trace.Note = fmt.Sprintf("%d tries", tries)
	return err
}
