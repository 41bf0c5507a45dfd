package fn

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

func TestSS11_SS12_PartitionCountsIndexesAndPodsAreNamedByOrdinal(t *testing.T) {
	w := newWorld(3).outdated()
	w.set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 8} // names that sort otherwise than their numbers
	for i, name := range []string{"etcd-8", "etcd-9", "etcd-10"} {
		delete(w.pods, "etcd-"+string(rune('0'+i)))
		w.pods[name] = etcdPod(name, oldRevision)
	}
	s, d, err := observer(w).Decide(t.Context(), target, roll.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Pod(2).UID != "uid-etcd-10" || d.Victim != 2 || d.Write.Partition != 2 {
		t.Errorf("victim %d is %s, partition %d", d.Victim, s.Pod(2).UID, d.Write.Partition)
	}
}

func TestET21_VictimIsAskedLastBeforeItsRelease(t *testing.T) {
	for name, c := range map[string]struct {
		last  guard.Answer
		given bool
	}{
		"leads by now":           {guard.Yes, false},
		"was reached, is silent": {guard.Unknown, false},
		"follows":                {guard.No, true},
	} {
		w := newWorld(3).outdated()
		w.leads[2] = c.last
		got := post(t, handler(w), diverged(), preferReply)
		if (len(w.patches) == 1) != c.given || (partition(w.set) == 2) != c.given {
			t.Errorf("%s: %d writes, partition %d", name, len(w.patches), partition(w.set))
		}
		if !c.given && (got.code != http.StatusAccepted || got.event != nil) {
			t.Errorf("%s: %d %s", name, got.code, got.kind())
		}
		if at := slices.Index(w.calls, "leads etcd-2"); c.given && (at < 0 || w.calls[at+1] != "patch set") {
			t.Errorf("%s: something came between the question and the write: %v", name, w.calls)
		}
	}
}

func TestET01_MoveIsAnnouncedThenAskedOfTheLeaderItself(t *testing.T) {
	w := newWorld(3).outdated()
	w.leader = 2
	var reached []string
	h := handler(w)
	h.Actor.Checkpoint = func(name string) { reached = append(reached, name) }
	post(t, h, diverged())
	if len(w.moves) != 1 || w.count("move leader at etcd-2") != 1 || partition(w.set) != 3 {
		t.Errorf("moves %v, calls %v, partition %d", w.moves, w.calls, partition(w.set))
	}
	if diff := cmp.Diff([]string{BeforeWrite, AfterWrite, BeforeEffect, AfterEffect}, reached); diff != "" {
		t.Error(diff)
	}
	if slices.Index(w.calls, "patch set") > slices.Index(w.calls, "move leader at etcd-2") {
		t.Error("the call came before its announcement")
	}
}

func TestKN12_FailedMoveLeavesTheAnnouncementAndTheChain(t *testing.T) {
	w := newWorld(3).outdated()
	w.leader, w.moveErr = 2, errors.New("the transfer was not seen to end in time")
	got := post(t, handler(w), diverged(), preferReply)
	if got.kind() != events.TypeContinue || len(w.patches) != 1 || len(w.moves) != 1 {
		t.Errorf("%d %s", got.code, got.kind())
	}
}

// onDelete makes the world one whose pods are deleted by us.
func onDelete(w *world) *world {
	w.set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	w.may = true
	return w
}

func TestPodIsDeletedAsItWasObserved(t *testing.T) {
	w := onDelete(newWorld(3).outdated())
	post(t, handler(w), diverged())
	if diff := cmp.Diff(map[string]PodIdentity{"etcd-2": {UID: "uid-etcd-2", ResourceVersion: "7"}}, w.deletes); diff != "" {
		t.Error(diff)
	}
}

func TestPodThatChangedIsDeletedOnlyIfNothingThatCountsHasChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"a condition":      {func(p *corev1.Pod) { p.Status.Message = "x" }, true},
		"another pod":      {func(p *corev1.Pod) { p.UID = "uid-other" }, false},
		"not ready":        {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
		"another revision": {func(p *corev1.Pod) { p.Labels[events.PodRevisionLabel] = newRevision }, false},
		"terminating":      {func(p *corev1.Pod) { p.DeletionTimestamp = ptr(metav1.NewTime(noon)) }, false},
	} {
		w := onDelete(newWorld(3).outdated())
		w.before["patch set"] = func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			c.change(w.pods["etcd-2"])
			w.pods["etcd-2"].ResourceVersion = "8"
		}
		got := post(t, handler(w), diverged(), preferReply)
		if (len(w.deletes) == 1) != c.want || got.kind() != events.TypeContinue {
			t.Errorf("%s: deleted %v, %d %s", name, w.deletes, got.code, got.kind())
		}
	}
}

func TestI2_MemberThatCameToLeadDuringTheAnnouncementIsNotDeleted(t *testing.T) {
	w := onDelete(newWorld(3).outdated())
	w.before["patch set"] = func() { w.mu.Lock(); defer w.mu.Unlock(); w.leader = 2 }
	got := post(t, handler(w), diverged(), preferReply)
	if len(w.patches) != 1 || len(w.deletes) != 0 || got.kind() != events.TypeContinue {
		t.Errorf("deleted %v, %d %s", w.deletes, got.code, got.kind())
	}
}

func TestPodThatIsGoneAlreadyIsFine(t *testing.T) {
	w := onDelete(newWorld(3).outdated())
	w.before["delete pod etcd-2"] = func() { w.mu.Lock(); defer w.mu.Unlock(); delete(w.pods, "etcd-2") }
	if got := post(t, handler(w), diverged(), preferReply); got.kind() != events.TypeContinue {
		t.Errorf("%d %s", got.code, got.kind())
	}
}

// broken makes etcd-2 a pod that will not start on the old revision.
func broken(w *world) *world {
	p := w.pods["etcd-2"]
	p.Status.Conditions[0].Status = corev1.ConditionFalse
	p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	*w.members[2] = unreachable()
	w.leads[2] = guard.Unknown
	return w
}

func TestSS01_BrokenPodIsReleasedAndDeletedIfWeMay(t *testing.T) {
	w := broken(newWorld(3).outdated())
	w.may = true
	post(t, handler(w), diverged())
	if partition(w.set) != 2 || len(w.deletes) != 1 || w.deletes["etcd-2"].UID != "uid-etcd-2" || w.count("ask rights") != 1 {
		t.Errorf("partition %d, deleted %v", partition(w.set), w.deletes)
	}
}

func TestSS01_WithoutTheRightTheCommandIsPrinted(t *testing.T) {
	for name, plan := range map[string]func(*world){
		"refused":          func(*world) {},
		"may not even ask": func(w *world) { w.fails["ask rights"] = []error{forbidden("selfsubjectaccessreviews")} },
	} {
		w := broken(newWorld(3).outdated())
		plan(w)
		got := post(t, handler(w), diverged(), preferReply)
		if got.kind() != events.TypeHalted || len(w.deletes) > 0 || !strings.Contains(w.note(t, events.AnnotationMessage), "kubectl -n db delete pod etcd-2") {
			t.Errorf("%s: %d %s: %s", name, got.code, got.kind(), w.note(t, events.AnnotationMessage))
		}
	}
}

func TestRightThatCannotBeAskedForNowIsAskedForLater(t *testing.T) {
	w := broken(newWorld(3).outdated())
	w.fails["ask rights"] = []error{errors.New("connection reset")}
	if got := post(t, handler(w), diverged()); got.code != http.StatusServiceUnavailable || len(w.patches) > 0 {
		t.Errorf("%d, %d patches", got.code, len(w.patches))
	}
}

func TestRightToAskIsNotNeededForAHealthyStep(t *testing.T) {
	w := newWorld(3).outdated()
	post(t, handler(w), diverged())
	if w.count("ask rights") != 0 {
		t.Error("the right to delete was asked for although nothing is deleted")
	}
}
