package fn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

const (
	// writeTime bounds one write to the API server.
	writeTime = 3 * time.Second

	// lookAgainTime bounds the last look before a release is taken back. It is
	// well below actTime: the write has to follow.
	lookAgainTime = 500 * time.Millisecond
)

// Actor carries out decisions.
type Actor struct {
	API        API
	Checkpoint Checkpoint
}

// Deed is what came of a decision.
type Deed uint8

// The deeds. Only Written and Called changed anything for certain.
const (
	Nothing  Deed = iota // the decision asked for nothing
	Written              // the write was accepted, and the call after it made
	Called               // a call was made without a write
	Declined             // the victim leads, or may, by its own last word
	Conflict             // the set or the released pod is another by now; observe again
	Lost                 // nobody knows whether the write arrived; it counts as not made
)

// String names the deed.
func (d Deed) String() string {
	return [...]string{"nothing", "written", "called", "declined", "conflict", "lost"}[d]
}

// Outcome is a deed and how the call after the write ended.
type Outcome struct {
	Deed    Deed
	CallErr error // how a call, or a lost write, failed; the next look tells what came of it
}

// Act makes the one write of the decision and, once it has won, the one call.
// ctx must not end with the caller's patience: a write that was sent is
// followed up.
//
// Invariant: a call is made only by whoever wrote its announcement. A lost or
// refused write makes none.
func (a *Actor) Act(ctx context.Context, s *Sight, d roll.Decision) (Outcome, error) {
	if d.Write == nil && d.Effect.Kind == roll.NoEffect {
		return Outcome{}, nil
	}
	if !a.mayGiveUp(ctx, s, d) {
		return Outcome{Deed: Declined}, nil
	}
	if d.TakesBack() && a.wentMeanwhile(ctx, s, d.Victim) {
		return Outcome{Deed: Conflict}, nil
	}
	deed := Called
	if d.Write != nil {
		var err error
		deed, err = a.write(ctx, s, d.Write)
		switch {
		case deed == Lost:
			return Outcome{Deed: Lost, CallErr: err}, nil
		case deed != Written || err != nil:
			return Outcome{Deed: deed}, err
		}
	}
	if deed == Written && d.Effect.Kind == roll.DeletePod && !a.mayGiveUp(ctx, s, d) {
		return Outcome{Deed: deed, CallErr: errChanged}, nil
	}
	return Outcome{Deed: deed, CallErr: a.call(ctx, s, d.Effect)}, nil
}

// errChanged: leadership drifted, or another pod went away, while the delete
// was announced. The announcement runs out, and all is planned afresh.
var errChanged = errors.New("not deleted: its member leads, or another pod is not up, since the announcement")

// mayGiveUp asks once more, as the last thing before a pod is given up, what
// the resourceVersion of the set does not fence: that no other pod has been
// evicted since the pods were read, and that leadership has not drifted.
func (a *Actor) mayGiveUp(ctx context.Context, s *Sight, d roll.Decision) bool {
	gives := d.Step == roll.StepRelease || d.Step == roll.StepRecover || d.Step == roll.StepDelete || d.Effect.Kind == roll.DeletePod
	if !gives || s.Set.Replicas == 1 { // a single voter has no others, and nobody to hand over to
		return true
	}
	return a.othersUp(ctx, s, d.Victim) && !a.leads(ctx, s, d.Victim)
}

// othersUp reads every pod but the victim again. A member whose pod is being
// deleted still answers during its grace period, so the probe cannot tell.
// What cannot be read is not up.
func (a *Actor) othersUp(ctx context.Context, s *Sight, victim int) bool {
	up := make([]bool, len(s.pods))
	var all sync.WaitGroup
	for i, before := range s.pods {
		if up[i] = i == victim; up[i] || before == nil {
			continue
		}
		all.Go(func() {
			pod, err := a.API.Pod(ctx, s.Target.Namespace, s.Set.PodName(i))
			up[i] = err == nil && pod.UID == before.UID && toPod(pod, s.set.UID).Usable()
		})
	}
	all.Wait()
	return !slices.Contains(up, false)
}

// wentMeanwhile reads a released pod again, as the last thing before its
// release is taken back. A pod that the controller took after the pods were
// read closes gates by going: its member falls silent, its budget is spent. To
// lock then would bring it back on the old revision, for one restart more.
// What cannot be read, or not soon, is no reason to stay open.
func (a *Actor) wentMeanwhile(ctx context.Context, s *Sight, released int) bool {
	ctx, cancel := context.WithTimeout(ctx, lookAgainTime)
	defer cancel()
	pod, err := a.API.Pod(ctx, s.Target.Namespace, s.Set.PodName(released))
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return string(pod.UID) != s.Pod(released).UID || pod.DeletionTimestamp != nil
}

// leads asks the victim's own member. One that answered a moment ago and now
// does not may lead as well.
func (a *Actor) leads(ctx context.Context, s *Sight, victim int) bool {
	if s.members == nil || victim < 0 || victim >= len(s.endpoints) {
		return true // it was never asked, which is no answer
	}
	switch s.members.Leads(ctx, s.endpoints[victim], s.who) {
	case guard.Yes:
		return true
	case guard.No:
		return false
	}
	return s.Member(victim).Reached
}

// write sends the patch once. Only with Lost is there an error that is not to
// be answered with.
func (a *Actor) write(ctx context.Context, s *Sight, w *roll.Write) (Deed, error) {
	patch, err := toPatch(s.set, w)
	if err != nil {
		return Nothing, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	a.Checkpoint.reach(BeforeWrite)
	err = a.API.PatchSet(ctx, s.Target.Namespace, s.Target.Name, patch)
	a.Checkpoint.reach(AfterWrite)
	switch {
	case err == nil:
		return Written, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return Conflict, nil
	case ambiguous(err):
		return Lost, fmt.Errorf("patch statefulset %s, perhaps in vain: %w", s.Target, err)
	}
	return Nothing, fmt.Errorf("patch statefulset %s: %w", s.Target, err)
}

// ambiguous: the request may have been carried out although no answer says
// so. A refusal that the server has put into words is not of that kind.
func ambiguous(err error) bool {
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
		return true
	}
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsUnexpectedServerError(err)
}

// errLate: the write won, and then there was no time left for its call.
var errLate = errors.New("the call window is over; the next look plans afresh")

// call makes the call that was announced. Its error is told and decides
// nothing: the next look sees who leads and which pod is there.
//
// A process that was held up since the announcement finds its time over, and
// leaves the call to whoever looks next; the timer of ctx may be late as well.
func (a *Actor) call(ctx context.Context, s *Sight, e roll.Effect) error {
	if end, bounded := ctx.Deadline(); bounded && e.Kind != roll.NoEffect && !time.Now().Before(end) {
		return errLate
	}
	switch e.Kind {
	case roll.MoveLeader:
		return a.moveLeader(ctx, s, e)
	case roll.DeletePod:
		return a.deletePod(ctx, s, e)
	}
	return nil
}

func (a *Actor) moveLeader(ctx context.Context, s *Sight, e roll.Effect) error {
	if s.members == nil || e.Index < 0 || e.Index >= len(s.endpoints) {
		return fmt.Errorf("move leader: member %s has no address", e.From)
	}
	a.Checkpoint.reach(BeforeEffect)
	err := s.members.MoveLeader(ctx, s.endpoints[e.Index], s.who, e.To)
	a.Checkpoint.reach(AfterEffect)
	return err
}

// deletePod deletes this very pod, as it was observed. That it is gone or
// another by now is what was wanted. A broken pod's status changes all the
// time; as long as nothing changed that was decided upon, its new
// resourceVersion will do.
func (a *Actor) deletePod(ctx context.Context, s *Sight, e roll.Effect) error {
	if e.Index < 0 || e.Index >= len(s.pods) || s.pods[e.Index] == nil {
		return fmt.Errorf("delete pod: index %d was not observed", e.Index)
	}
	pod := s.pods[e.Index]
	err := a.deleteOnly(ctx, pod, e.PodUID)
	if apierrors.IsConflict(err) {
		again, readErr := a.API.Pod(ctx, pod.Namespace, pod.Name)
		if readErr == nil && sameToDelete(toPod(again, s.set.UID), s.Pod(e.Index)) {
			err = a.deleteOnly(ctx, again, e.PodUID)
		}
	}
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("delete pod %s/%s: %w", pod.Namespace, pod.Name, err)
}

func (a *Actor) deleteOnly(ctx context.Context, pod *corev1.Pod, uid string) error {
	only := PodIdentity{UID: uid, ResourceVersion: pod.ResourceVersion}
	a.Checkpoint.reach(BeforeEffect)
	err := a.API.DeletePod(ctx, pod.Namespace, pod.Name, only)
	a.Checkpoint.reach(AfterEffect)
	return err
}

// sameToDelete compares what the decision to delete rested on.
func sameToDelete(a, b guard.Pod) bool {
	return a.UID == b.UID && a.Owned == b.Owned && a.Revision == b.Revision && a.Terminating == b.Terminating && a.Ready == b.Ready
}
