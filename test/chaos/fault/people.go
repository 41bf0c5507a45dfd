package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/chaos/stage"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

// agreedWithin is how long people try to get something through to the API server.
const agreedWithin = 30 * time.Second

func patch(ctx context.Context, s *stage.Stage, who string, change map[string]any) (*appsv1.StatefulSet, error) {
	body, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	return s.Cluster.Client.AppsV1().StatefulSets(s.Namespace).Patch(ctx, s.Set.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: who})
}

// Annotate sets annotations of the set; nil removes one.
func Annotate(ctx context.Context, s *stage.Stage, values map[string]any) error {
	return insist(ctx, agreedWithin, func() error {
		_, err := patch(ctx, s, "somebody", map[string]any{"metadata": map[string]any{"annotations": values}})
		return err
	})
}

// changeTemplate is the owner who changes his mind in mid-roll.
type changeTemplate struct {
	base
	s *stage.Stage
}

func (f *changeTemplate) Inject(ctx context.Context) error {
	return insist(ctx, agreedWithin, func() error {
		return f.s.Set.Edit(ctx, etcdset.WithEnv("CHANGED", time.Now().Format(time.RFC3339Nano)))
	})
}

// pause is a person who holds the roll back for a while.
type pause struct {
	base
	s *stage.Stage
}

func (f *pause) Inject(ctx context.Context) error {
	return Annotate(ctx, f.s, map[string]any{events.AnnotationPaused: "true"})
}

func (f *pause) Heal(ctx context.Context) error {
	return Annotate(ctx, f.s, map[string]any{events.AnnotationPaused: nil})
}

// rotate replaces the certificate of members and function.
type rotate struct {
	base
	s *stage.Stage
}

func (f *rotate) Inject(ctx context.Context) error {
	return insist(ctx, agreedWithin, func() error { return f.s.Rotate(ctx) })
}

// resetPartition is a GitOps loop whose manifest says that the set is locked.
type resetPartition struct {
	base
	s       *stage.Stage
	stop    context.CancelFunc
	stopped chan struct{}
	resets  atomic.Int64
}

func (f *resetPartition) Inject(ctx context.Context) error {
	ctx, f.stop = context.WithCancel(ctx)
	f.stopped = make(chan struct{})
	go f.loop(ctx)
	return nil
}

func (f *resetPartition) loop(ctx context.Context) {
	defer close(f.stopped)
	tick := time.NewTicker(f.Every)
	defer tick.Stop()
	locked := map[string]any{"spec": map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": f.s.Shape.Members}}}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if f.s.Observer.Set().Locked() {
			continue // a loop that finds no difference writes nothing
		}
		if _, err := patch(ctx, f.s, "gitops-loop", locked); err == nil {
			f.resets.Add(1)
		}
	}
}

func (f *resetPartition) Heal(context.Context) error {
	f.stop()
	<-f.stopped
	f.trace.Note = fmt.Sprintf("%d resets", f.resets.Load())
	return nil
}
