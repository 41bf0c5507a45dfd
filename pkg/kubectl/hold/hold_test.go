package hold_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spf13/cobra"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/kubectl/hold"
	"github.com/etcdroll/etcdroll/pkg/kubectl/testcluster"
)

func run(t *testing.T, command *cobra.Command, args ...string) error {
	t.Helper()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(append([]string{"etcd"}, args...))
	return command.ExecuteContext(t.Context())
}

func notes(t *testing.T, c *testcluster.Cluster) map[string]string {
	t.Helper()
	set, err := c.Client.AppsV1().StatefulSets("db").Get(t.Context(), "etcd", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set.Annotations
}

func paused(s *appsv1.StatefulSet) {
	testcluster.Outdated(s)
	s.Annotations[events.AnnotationPaused] = "true"
}

func TestPauseSaysWhatIsStillSeenThrough(t *testing.T) {
	set := testcluster.Set(func(s *appsv1.StatefulSet) {
		testcluster.Outdated(s)
		s.Annotations[events.AnnotationPhase] = events.PhaseRolling
		s.Annotations[events.AnnotationRollout] = `{"uid":"uid-set","seq":7,"target":"` + testcluster.Next + `","started":"2026-11-30T11:55:48Z","step":{"kind":"release","index":2,"podUID":"x","partition":2,"started":"2026-11-30T11:59:20Z"}}`
	})
	c := testcluster.New(testcluster.Objects(set, testcluster.Old)...)
	if err := run(t, hold.Pause(c.Access(t))); err != nil {
		t.Fatal(err)
	}
	if notes(t, c)[events.AnnotationPaused] != "true" || !strings.Contains(c.Out.String(), "next: etcd-2 (release) is seen through") {
		t.Errorf("%v: %s", notes(t, c), c.Out.String())
	}
}

func TestResumeNamesTheHaltAndWhatComesNext(t *testing.T) {
	c := testcluster.New(testcluster.Objects(testcluster.Set(testcluster.Halted), testcluster.Old)...)
	if err := run(t, hold.Resume(c.Access(t))); err != nil {
		t.Fatal(err)
	}
	id := testcluster.Next + "-7"
	if notes(t, c)[events.AnnotationResume] != id {
		t.Errorf("annotations %v", notes(t, c))
	}
	for _, want := range []string{"halt " + id + " (PodBroken) is cleared", "the template is still " + testcluster.Next, "next: every gate is open; leadership moves off etcd-2, then it is replaced"} {
		if !strings.Contains(c.Out.String(), want) {
			t.Errorf("%q is missing in %s", want, c.Out.String())
		}
	}
}

func TestResumeNamesTheGatesThatStillObject(t *testing.T) {
	c := testcluster.New(testcluster.Objects(testcluster.Set(testcluster.Halted), testcluster.Old)...)
	c.Members[1] = guard.Member{Detail: "Status: no connection"}
	if err := run(t, hold.Resume(c.Access(t))); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.Out.String(), "once these gates pass: MembersReachable (etcd-1 did not answer") {
		t.Errorf("%s", c.Out.String())
	}
}

func TestResumeEndsAPause(t *testing.T) {
	c := testcluster.New(testcluster.Objects(testcluster.Set(paused), testcluster.Old)...)
	if err := run(t, hold.Resume(c.Access(t))); err != nil {
		t.Fatal(err)
	}
	if _, has := notes(t, c)[events.AnnotationPaused]; has {
		t.Error("still paused")
	}
}

func TestResumeRefusesWhatItCannotMean(t *testing.T) {
	for name, c := range map[string]struct {
		set  *appsv1.StatefulSet
		args []string
		says string
	}{
		"neither halted nor paused": {testcluster.Set(testcluster.Converged), nil, "neither halted nor paused"},
		"another halt":              {testcluster.Set(testcluster.Halted), []string{"--halt-id=other"}, "is halted as " + testcluster.Next + "-7"},
		"a halt that is no more":    {testcluster.Set(paused), []string{"--halt-id=other"}, "is not halted"},
		"a halt of an old template": {testcluster.Set(func(s *appsv1.StatefulSet) { testcluster.Halted(s); s.Status.UpdateRevision = "etcd-c" }), nil, "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := testcluster.New(testcluster.Objects(c.set, testcluster.Old)...)
			before := notes(t, cluster)
			err := run(t, hold.Resume(cluster.Access(t)), c.args...)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
			if after := notes(t, cluster); len(after) != len(before) {
				t.Errorf("changed: %v", after)
			}
		})
	}
}
