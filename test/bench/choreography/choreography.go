// Package choreography plays the scripts that people roll etcd with today. The
// steps are in here; how each is done, hands know.
package choreography

import (
	"context"
	"fmt"
)

// Hands do what a script has kubectl and etcdctl for.
type Hands interface {
	// Partition writes the partition.
	Partition(ctx context.Context, value int) error
	// Delete deletes a pod.
	Delete(ctx context.Context, index int) error
	// Replaced waits until the pod runs the new template and is Ready.
	Replaced(ctx context.Context, index int) error
	// Healthy waits until every member answers a linearizable read.
	Healthy(ctx context.Context) error
	// Rest waits for the cool-down.
	Rest(ctx context.Context) error
	// Leader is the index of the member that leads.
	Leader(ctx context.Context) (int, error)
	// Lead moves leadership to a member, unless it leads already.
	Lead(ctx context.Context, index int) error
}

// Fixed is what the shell Job did, wherever leadership begins: to pod 0, down
// from the highest pod to pod 1, to the highest pod, then pod 0, and the lock
// again. What it knows of health it knows by waiting.
func Fixed(ctx context.Context, h Hands, members int) error {
	last := members - 1
	if err := h.Lead(ctx, 0); err != nil {
		return fmt.Errorf("move leadership to pod 0: %w", err)
	}
	for i := last; i >= 0; i-- {
		if i == 0 && last > 0 {
			if err := h.Lead(ctx, last); err != nil {
				return fmt.Errorf("move leadership to pod %d: %w", last, err)
			}
		}
		if err := h.Partition(ctx, i); err != nil {
			return fmt.Errorf("lower the partition to %d: %w", i, err)
		}
		if err := back(ctx, h, i); err != nil {
			return err
		}
	}
	return h.Partition(ctx, members)
}

func back(ctx context.Context, h Hands, index int) error {
	if err := h.Replaced(ctx, index); err != nil {
		return fmt.Errorf("wait for pod %d: %w", index, err)
	}
	if err := h.Healthy(ctx); err != nil {
		return fmt.Errorf("wait for health after pod %d: %w", index, err)
	}
	return h.Rest(ctx)
}

// LeaderLast deletes the pods of an OnDelete set one by one, the highest first
// and the leader's last, and waits for each to be Ready. It moves nothing.
func LeaderLast(ctx context.Context, h Hands, members int) error {
	leader, err := h.Leader(ctx)
	if err != nil {
		return fmt.Errorf("find the leader: %w", err)
	}
	for _, i := range leaderLast(members, leader) {
		if err := h.Delete(ctx, i); err != nil {
			return fmt.Errorf("delete pod %d: %w", i, err)
		}
		if err := h.Replaced(ctx, i); err != nil {
			return fmt.Errorf("wait for pod %d: %w", i, err)
		}
	}
	return nil
}

func leaderLast(members, leader int) []int {
	var order []int
	for i := members - 1; i >= 0; i-- {
		if i != leader {
			order = append(order, i)
		}
	}
	return append(order, leader)
}
