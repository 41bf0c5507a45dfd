package look_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/kubectl/look"
	"github.com/etcdroll/etcdroll/pkg/kubectl/screen"
	"github.com/etcdroll/etcdroll/pkg/kubectl/testcluster"
)

// scene is one set at one moment.
type scene struct {
	set   *appsv1.StatefulSet
	pods  []*corev1.Pod
	spoil func([]guard.Member)
	mute  bool // nobody was asked
}

func pods(revisions ...string) []*corev1.Pod {
	var list []*corev1.Pod
	for i, r := range revisions {
		list = append(list, testcluster.Pod(i, r, nil))
	}
	return list
}

func (s scene) look() look.Set {
	o := fn.Read(s.set, s.pods, testcluster.Noon)
	if !s.mute {
		c := testcluster.New()
		if s.spoil != nil {
			s.spoil(c.Members)
		}
		o.Probed, o.Members, o.Commit, o.AlarmsRead = true, c.Members, c.Commit, guard.Yes
		o.Budget = guard.Budget{Read: guard.Yes}
	}
	return look.At(look.Facts{Object: s.set, Observed: o, Pods: true})
}

func rolling(step string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		testcluster.Outdated(set)
		set.Annotations[events.AnnotationPhase] = events.PhaseRolling
		set.Annotations[events.AnnotationReason] = "Relocked"
		set.Annotations[events.AnnotationMessage] = "the new pod object exists; the set is locked while it starts"
		set.Annotations[events.AnnotationRollout] = fmt.Sprintf(`{"uid":"uid-set","seq":7,"target":%q,"started":"2026-11-30T11:55:48Z","moves":1,"step":%s}`, testcluster.Next, step)
	}
}

const released = `{"kind":"release","index":2,"podUID":"uid-before","target":"` + testcluster.Next + `","partition":2,"started":"2026-11-30T11:59:20Z","locked":true}`

func young(pod *corev1.Pod) {
	at := metav1.NewTime(testcluster.Noon.Add(-18 * time.Second))
	pod.CreationTimestamp = metav1.NewTime(testcluster.Noon.Add(-31 * time.Second))
	pod.Status.Conditions[0].LastTransitionTime = at
	pod.Status.ContainerStatuses[0].State.Running.StartedAt = at
}

func starting(pod *corev1.Pod) {
	young(pod)
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "manifest unknown"}}
}

func scenes() map[string]scene {
	cooling := pods(testcluster.Old, testcluster.Old)
	cooling = append(cooling, testcluster.Pod(2, testcluster.Next, young))
	broken := append(pods(testcluster.Old, testcluster.Old), testcluster.Pod(2, testcluster.Next, starting))
	blocked := func(set *appsv1.StatefulSet) {
		testcluster.Outdated(set)
		set.Annotations[events.AnnotationPhase] = events.PhaseBlocked
		set.Annotations[events.AnnotationReason] = "GatesClosed"
		set.Annotations[events.AnnotationMessage] = "CaughtUp: etcd-1 is 6231 entries behind"
		set.Annotations[events.AnnotationRollout] = `{"uid":"uid-set","seq":3,"target":"` + testcluster.Next + `","started":"2026-11-30T10:40:00Z","blockedBy":["CaughtUp"]}`
	}
	held := func(set *appsv1.StatefulSet) {
		testcluster.Converged(set)
		set.Annotations[events.AnnotationPaused] = "true"
	}
	lags := func(m []guard.Member) { m[1].Last.Applied, m[1].First.Applied = 38, 30 }
	return map[string]scene{
		"converged": {set: testcluster.Set(testcluster.Converged), pods: pods(testcluster.Old, testcluster.Old, testcluster.Old)},
		"cooling":   {set: testcluster.Set(rolling(released)), pods: cooling},
		"starting":  {set: testcluster.Set(rolling(released)), pods: broken, spoil: func(m []guard.Member) { m[2] = guard.Member{Detail: "Status: no connection"} }},
		"away":      {set: testcluster.Set(rolling(released)), pods: pods(testcluster.Old, testcluster.Old), spoil: func(m []guard.Member) { m[2] = guard.Member{} }},
		"blocked":   {set: testcluster.Set(blocked), pods: pods(testcluster.Old, testcluster.Old, testcluster.Old), spoil: lags},
		"halted":    {set: testcluster.Set(testcluster.Halted), pods: broken, spoil: func(m []guard.Member) { m[2] = guard.Member{} }},
		"pending":   {set: testcluster.Set(func(s *appsv1.StatefulSet) { testcluster.Converged(s); testcluster.Outdated(s) }), pods: pods(testcluster.Old, testcluster.Old, testcluster.Old)},
		"held":      {set: testcluster.Set(held), pods: pods(testcluster.Old, testcluster.Old, testcluster.Old)},
		"unasked":   {set: testcluster.Set(testcluster.Converged), pods: pods(testcluster.Old, testcluster.Old, testcluster.Old), mute: true},
	}
}

func TestASetAsItLooks(t *testing.T) {
	for name, s := range scenes() {
		for _, width := range []int{80, 200} {
			style := screen.Style{Width: width, Unicode: width > 100}
			lines := s.look().Lines(style, false)
			for _, l := range lines {
				if n := len([]rune(l)); n > width {
					t.Errorf("%s: line of %d at %d columns: %q", name, n, width, l)
				}
			}
			testcluster.Golden(t, fmt.Sprintf("%s-%d", name, width), strings.Join(lines, "\n")+"\n")
		}
	}
}

func TestASetInColour(t *testing.T) {
	lines := scenes()["blocked"].look().Lines(screen.Style{Width: 80, Unicode: true, Colour: true}, false)
	testcluster.Golden(t, "blocked-colour", strings.Join(lines, "\n")+"\n")
}

func TestAFleetAsItLooks(t *testing.T) {
	var sets []look.Set
	for _, name := range []string{"converged", "cooling", "blocked", "halted", "pending", "held"} {
		s := scenes()[name]
		s.set.Name = "etcd-" + name
		sets = append(sets, look.At(look.Facts{Object: s.set, Observed: fn.Read(s.set, nil, testcluster.Noon)}))
	}
	for _, width := range []int{80, 200} {
		testcluster.Golden(t, fmt.Sprintf("fleet-%d", width), strings.Join(look.Fleet(sets, screen.Style{Width: width}, true, false), "\n")+"\n")
	}
}

// Nothing that is old or unknown passes for converged.
func TestConvergedIsNeverBelievedOfAnotherTemplate(t *testing.T) {
	for name, spoil := range map[string]func(*appsv1.StatefulSet){
		"another revision":      testcluster.Outdated,
		"a spec not yet seen":   func(s *appsv1.StatefulSet) { s.Generation++ },
		"no status":             func(s *appsv1.StatefulSet) { s.Status = appsv1.StatefulSetStatus{} },
		"another token":         func(s *appsv1.StatefulSet) { s.Annotations[events.AnnotationRelease] = "v2" },
		"no marks":              func(s *appsv1.StatefulSet) { s.Annotations = nil },
		"the mark of a halt":    func(s *appsv1.StatefulSet) { s.Annotations[events.AnnotationPhase] = events.PhaseHalted },
		"the set is on its way": func(s *appsv1.StatefulSet) { now := metav1.Now(); s.DeletionTimestamp = &now },
	} {
		set := testcluster.Set(testcluster.Converged)
		if !look.Converged(fn.Read(set, nil, testcluster.Noon)) {
			t.Fatal("the set to spoil is not converged")
		}
		spoil(set)
		if look.Converged(fn.Read(set, nil, testcluster.Noon)) {
			t.Errorf("%s: counts as converged", name)
		}
	}
}
