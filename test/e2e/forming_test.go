package e2e

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A set that is created under a trigger that is there already forms as sets do:
// pods wait for volumes, members exit until their peers have names, and a
// manifest without partition comes open. None of that is worth a warning.
func TestANewSetWarnsOfNothing(t *testing.T) {
	for name, shape := range map[string]func(*appsv1.StatefulSet){
		"ordered":                   func(*appsv1.StatefulSet) {},
		"ordered without partition": withoutPartition,
		"parallel":                  allAtOnce,
		"parallel without partition": func(set *appsv1.StatefulSet) {
			withoutPartition(set)
			allAtOnce(set)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := emptyStage(t)
			s.direct()
			o := quick()
			o.Shape = shape
			s.create(o)
			r := s.settled()
			converged(t, r)
			deleted(t, r, map[int]int{})
			s.warnedOfNothing()
		})
	}
}

func withoutPartition(set *appsv1.StatefulSet) { set.Spec.UpdateStrategy.RollingUpdate = nil }

func allAtOnce(set *appsv1.StatefulSet) {
	set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
}

// warnedOfNothing reads the Events that the function has left in the namespace,
// once the last of them is there: it is written after the set was marked.
func (s *stage) warnedOfNothing() {
	s.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		list, err := shared.Client.EventsV1().Events(s.namespace).List(s.ctx, metav1.ListOptions{})
		s.must(err)
		converged := false
		for _, e := range list.Items {
			if e.ReportingController != "etcdroll.dev/roll-fn" {
				continue
			}
			converged = converged || e.Reason == "Converged"
			if e.Type != "Normal" {
				s.Fatalf("%s %s: %s", e.Type, e.Reason, e.Note)
			}
		}
		if converged {
			return
		}
		if time.Now().After(deadline) {
			s.Fatal("no Event says that the set has converged")
		}
	}
}
