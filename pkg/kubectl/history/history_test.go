package history

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/kubectl/testcluster"
)

const receipt = `{"uid":"uid-set","seq":15,"target":"` + testcluster.Old + `","done":true,"last":{"target":"` + testcluster.Old + `",` +
	`"started":"2026-11-30T11:00:00Z","finished":"2026-11-30T11:03:10Z","steps":11,"moves":2,"unplannedElections":0,"firstTerm":3,"lastTerm":5,"worstLag":4,` +
	`"attempts":{"0":1,"1":2,"2":1},"pods":{"2":{"began":"2026-11-30T11:00:10Z","ready":"2026-11-30T11:00:21Z","settled":"2026-11-30T11:00:55Z"},` +
	`"1":{"began":"2026-11-30T11:01:00Z","ready":"2026-11-30T11:01:12Z","settled":"2026-11-30T11:01:50Z"}},"overrides":["Headroom: defragmented by hand on Tuesday"]}}`

func event(name, reason, from string, uid types.UID, kind string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name}, Reason: reason, Message: reason + ": words", Type: kind, ReportingController: from,
		InvolvedObject: corev1.ObjectReference{Kind: "StatefulSet", Name: "etcd", UID: uid},
		EventTime:      metav1.NewMicroTime(testcluster.Noon.Add(-time.Minute)),
	}
}

func show(t *testing.T, objects ...runtime.Object) string {
	t.Helper()
	c := testcluster.New(objects...)
	command := Command(c.Access(t))
	command.SetArgs([]string{"etcd"})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.Out.String()
}

func TestTheReceiptAndWhatHappenedLately(t *testing.T) {
	set := testcluster.Set(func(s *appsv1.StatefulSet) {
		testcluster.Converged(s)
		s.Annotations[events.AnnotationRollout] = receipt
	})
	out := show(t, set,
		event("a", "PodReleased", reporter, "uid-set", "Normal"), event("b", "Halted", reporter, "uid-set", "Warning"),
		event("c", "SuccessfulDelete", "statefulset-controller", "uid-set", "Normal"), event("d", "Converged", reporter, "uid-of-an-earlier-set", "Normal"))
	testcluster.Golden(t, "receipt", out)
	for _, foreign := range []string{"SuccessfulDelete", "Converged: words"} {
		if strings.Contains(out, foreign) {
			t.Errorf("%s is not of this set's function", foreign)
		}
	}
}

func TestNothingHasBeenRolledYet(t *testing.T) {
	forming := testcluster.Set(func(s *appsv1.StatefulSet) {
		s.Annotations[events.AnnotationRollout] = `{"uid":"uid-set","seq":1}`
	})
	if out := show(t, forming); strings.Contains(out, "under way") {
		t.Errorf("a set that is forming is in no roll: %s", out)
	}
	if out := show(t, testcluster.Set(nil)); !strings.Contains(out, "no roll has been completed yet") {
		t.Error(out)
	}
}
