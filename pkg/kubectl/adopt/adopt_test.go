package adopt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/adopt"
	"github.com/etcdroll/etcdroll/pkg/kubectl/testcluster"
)

func run(t *testing.T, c *testcluster.Cluster, args ...string) error {
	t.Helper()
	command := adopt.Command(c.Access(t))
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(append([]string{"etcd"}, args...))
	return command.ExecuteContext(t.Context())
}

// wild is a set that nobody guards.
func wild(changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	return testcluster.Set(func(s *appsv1.StatefulSet) {
		s.Labels, s.Annotations = nil, nil
		*s.Spec.UpdateStrategy.RollingUpdate.Partition = 0
		for _, change := range changes {
			change(s)
		}
	})
}

func get(t *testing.T, c *testcluster.Cluster) *appsv1.StatefulSet {
	t.Helper()
	set, err := c.Client.AppsV1().StatefulSets("db").Get(t.Context(), "etcd", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// writes counts everything but reads.
func writes(c *testcluster.Cluster) int {
	n := 0
	for _, a := range c.Client.Actions() {
		if v := a.GetVerb(); v != "get" && v != "list" && v != "watch" {
			n++
		}
	}
	return n
}

func TestASetIsLabelledAndLocked(t *testing.T) {
	c := testcluster.New(testcluster.Objects(wild(), testcluster.Old)...)
	if err := run(t, c); err != nil {
		t.Fatal(err)
	}
	if set := get(t, c); *set.Spec.UpdateStrategy.RollingUpdate.Partition != 3 || set.Labels[events.LabelManaged] != "true" {
		t.Errorf("partition %d, labels %v", *set.Spec.UpdateStrategy.RollingUpdate.Partition, set.Labels)
	}
	testcluster.Golden(t, "adopted", c.Out.String())
}

func TestAPartitionIsNeverLowered(t *testing.T) {
	c := testcluster.New(testcluster.Objects(wild(func(s *appsv1.StatefulSet) { *s.Spec.UpdateStrategy.RollingUpdate.Partition = 7 }), testcluster.Old)...)
	if err := run(t, c); err != nil {
		t.Fatal(err)
	}
	if got := *get(t, c).Spec.UpdateStrategy.RollingUpdate.Partition; got != 7 {
		t.Errorf("partition %d, want 7", got)
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	c := testcluster.New(testcluster.Objects(wild(), testcluster.Old)...)
	if err := run(t, c, "--dry-run=client"); err != nil {
		t.Fatal(err)
	}
	if n := writes(c); n != 0 {
		t.Errorf("%d writes", n)
	}
	if !strings.Contains(c.Out.String(), "partition: 0 -> 3 (locked)") {
		t.Errorf("%s", c.Out.String())
	}
}

func TestTheConfigurationIsCheckedBeforeItIsCreated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := testcluster.New(testcluster.Objects(wild(), testcluster.Old)...)
	write("cooldownSecs: 10\n")
	if err := run(t, c, "--config-file="+file); access.ExitCode(err) != 2 || writes(c) != 0 {
		t.Errorf("a wrong configuration: %v, %d writes", err, writes(c))
	}
	if !strings.Contains(c.Out.String(), `unknown key "cooldownSecs"`) {
		t.Errorf("%s", c.Out.String())
	}
	write("cooldownSeconds: 10\n")
	if err := run(t, c, "--config-file="+file); err != nil {
		t.Fatal(err)
	}
	m, err := c.Client.CoreV1().ConfigMaps("db").Get(t.Context(), "etcd-etcdroll", metav1.GetOptions{})
	if err != nil || m.Data["config.yaml"] != "cooldownSeconds: 10\n" || get(t, c).Annotations[events.AnnotationConfig] != m.Name {
		t.Errorf("%v: %v, annotations %v", err, m.Data, get(t, c).Annotations)
	}
}

func TestWhatStandsInTheWayStopsIt(t *testing.T) {
	two := intstr.FromInt32(2)
	for name, c := range map[string]struct {
		set  *appsv1.StatefulSet
		gone bool
		says string
	}{
		"more than one at a time":    {wild(func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &two }), false, "shape: "},
		"no replicas":                {wild(func(s *appsv1.StatefulSet) { *s.Spec.Replicas = 0 }), false, "shape: "},
		"in the middle of an update": {wild(testcluster.Outdated), true, "etcd-2 is away"},
		"no etcd": {wild(func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Image: "a"}, {Name: "b", Image: "b"}}
		}), false, "ConfigInvalid"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := testcluster.Objects(c.set, testcluster.Old)
			if c.gone {
				objects = objects[:3]
			}
			cluster := testcluster.New(objects...)
			err := run(t, cluster)
			if access.ExitCode(err) != 2 || writes(cluster) != 0 {
				t.Errorf("%v, %d writes", err, writes(cluster))
			}
			if !strings.Contains(cluster.Out.String(), "stop  ") || !strings.Contains(cluster.Out.String(), c.says) {
				t.Errorf("%q is missing in %s", c.says, cluster.Out.String())
			}
		})
	}
}

func TestWhatCouldBeBetterIsSaid(t *testing.T) {
	set := wild(testcluster.Outdated, func(s *appsv1.StatefulSet) {
		*s.Spec.UpdateStrategy.RollingUpdate.Partition = 3
		s.Spec.Template.Labels[events.LabelManaged] = "true"
		etcd := &s.Spec.Template.Spec.Containers[0]
		etcd.ReadinessProbe = nil
		etcd.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/health"}}}
	})
	c := testcluster.New(testcluster.Objects(set, testcluster.Old)...)
	if err := run(t, c, "--dry-run=client", "--paused"); err != nil {
		t.Fatal(err)
	}
	testcluster.Golden(t, "warned", c.Out.String())
}
