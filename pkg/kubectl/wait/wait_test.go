package wait_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/testcluster"
	"github.com/etcdroll/etcdroll/pkg/kubectl/wait"
)

// run is `wait etcd` with the arguments; it gives the exit code and the error.
func run(t *testing.T, c *testcluster.Cluster, args ...string) (int, string) {
	t.Helper()
	command := wait.Command(c.Access(t))
	command.SetArgs(append([]string{"etcd"}, args...))
	command.SilenceErrors, command.SilenceUsage = true, true
	err := command.ExecuteContext(t.Context())
	if err == nil {
		return 0, ""
	}
	return access.ExitCode(err), err.Error()
}

func TestTheExitCodeSaysHowItEnded(t *testing.T) {
	unmanaged := func(s *appsv1.StatefulSet) { delete(s.Labels, events.LabelManaged) }
	resumed := func(s *appsv1.StatefulSet) {
		testcluster.Halted(s)
		s.Annotations[events.AnnotationResume] = s.Annotations[events.AnnotationHaltID]
	}
	outdatedHalt := func(s *appsv1.StatefulSet) { testcluster.Halted(s); s.Status.UpdateRevision = "etcd-c" }
	unseen := func(s *appsv1.StatefulSet) { testcluster.Converged(s); s.Generation++ }
	for name, c := range map[string]struct {
		set  *appsv1.StatefulSet
		code int
		says string
	}{
		"converged":                  {testcluster.Set(testcluster.Converged), 0, ""},
		"halted":                     {testcluster.Set(testcluster.Halted), 2, "PodBroken: etcd-2 is not Ready 5m0s after its release: container etcd waits: ErrImagePull. What to do: Change the template"},
		"halted and being resumed":   {testcluster.Set(resumed), 1, "not converged within"},
		"halted at another template": {testcluster.Set(outdatedHalt), 1, "not converged within"},
		"a spec not yet seen":        {testcluster.Set(unseen), 1, "not converged within"},
		"not managed":                {testcluster.Set(unmanaged), 3, "adopt"},
	} {
		t.Run(name, func(t *testing.T) {
			code, says := run(t, testcluster.New(c.set), "--timeout=300ms")
			if code != c.code || !strings.Contains(says, c.says) {
				t.Errorf("exit code %d, want %d: %s", code, c.code, says)
			}
		})
	}
	if code, says := run(t, testcluster.New(testcluster.Set(nil)), "--timeout=-1s"); code != 3 || !strings.Contains(says, "--timeout must not be negative") {
		t.Errorf("a negative timeout: exit code %d: %s", code, says)
	}
	if code, says := run(t, testcluster.New()); code != 3 || !strings.Contains(says, "check the name") {
		t.Errorf("no such set: exit code %d: %s", code, says)
	}
}

// change updates the set a moment later.
func change(t *testing.T, c *testcluster.Cluster, to *appsv1.StatefulSet) {
	t.Helper()
	go func() {
		time.Sleep(100 * time.Millisecond)
		if _, err := c.Client.AppsV1().StatefulSets("db").Update(t.Context(), to, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	}()
}

func TestItEndsWhenTheSetHasConverged(t *testing.T) {
	c := testcluster.New(testcluster.Set(testcluster.Outdated))
	change(t, c, testcluster.Set(func(s *appsv1.StatefulSet) {
		s.Status.UpdateRevision = testcluster.Next
		testcluster.Converged(s)
	}))
	if code, says := run(t, c, "--timeout=20s"); code != 0 {
		t.Errorf("exit code %d: %s", code, says)
	}
	if !strings.Contains(c.Out.String(), "converged at "+testcluster.Next) {
		t.Errorf("said %q", c.Out.String())
	}
}

func TestItEndsWhenTheSetIsHalted(t *testing.T) {
	c := testcluster.New(testcluster.Set(testcluster.Outdated))
	change(t, c, testcluster.Set(testcluster.Halted))
	if code, says := run(t, c, "--timeout=20s"); code != 2 || !strings.Contains(says, "PodBroken") {
		t.Errorf("exit code %d: %s", code, says)
	}
}

// A watch cache that is behind shows the set as it was before the change that
// is waited for: converged. A fresh read tells better.
func TestAnOldWatchIsNotBelieved(t *testing.T) {
	c := testcluster.New(testcluster.Set(testcluster.Outdated))
	old := testcluster.Set(testcluster.Converged)
	c.Client.PrependReactor("list", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &appsv1.StatefulSetList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []appsv1.StatefulSet{*old}}, nil
	})
	if code, says := run(t, c, "--timeout=1s"); code != 1 {
		t.Errorf("exit code %d: %s", code, says)
	}
}

// Watches end; they are taken up again.
func TestAWatchThatEndsIsTakenUpAgain(t *testing.T) {
	c := testcluster.New(testcluster.Set(testcluster.Outdated))
	var watches atomic.Int32
	c.Client.PrependWatchReactor("statefulsets", func(action clienttesting.Action) (bool, watch.Interface, error) {
		if watches.Add(1) > 1 {
			return false, nil, nil
		}
		ended := watch.NewFake()
		ended.Stop()
		return true, ended, nil
	})
	go func() {
		time.Sleep(300 * time.Millisecond)
		set := testcluster.Set(testcluster.Converged)
		if _, err := c.Client.AppsV1().StatefulSets("db").Update(t.Context(), set, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	}()
	if code, says := run(t, c, "--timeout=25s"); code != 0 {
		t.Errorf("exit code %d after %d watches: %s", code, watches.Load(), says)
	}
}

func TestADeletedSetIsNoTimeout(t *testing.T) {
	c := testcluster.New(testcluster.Set(testcluster.Outdated))
	go func() {
		time.Sleep(100 * time.Millisecond)
		_ = c.Client.AppsV1().StatefulSets("db").Delete(t.Context(), "etcd", metav1.DeleteOptions{})
	}()
	if code, says := run(t, c, "--timeout=20s"); code != 3 {
		t.Errorf("exit code %d: %s", code, says)
	}
}
