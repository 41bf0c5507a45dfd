package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/child"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// plugin is kubectl-etcdroll, built for the first test that wants it.
var plugin = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	root, err := cluster.Root(ctx)
	if err != nil {
		return "", err
	}
	file := filepath.Join(shared.Dir, "bin", "kubectl-etcdroll")
	return file, child.Run(ctx, child.Command{Name: "building kubectl-etcdroll", Path: "go", Dir: root, Log: filepath.Join(shared.Dir, "build-plugin.log"),
		Args: []string{"build", "-ldflags", "-s -w", "-o", file, "./cmd/kubectl-etcdroll"}})
})

// said is what a run of the plugin came to.
type said struct {
	out, err string
	code     int
}

func (s *stage) command(args ...string) *exec.Cmd {
	s.Helper()
	program, err := plugin()
	s.must(err)
	c := exec.CommandContext(s.ctx, program, append(args, "--kubeconfig="+shared.Kubeconfig, "--namespace="+s.namespace)...)
	c.Env = append(os.Environ(), "HOME="+s.TempDir())
	return c
}

// kubectl runs `kubectl etcdroll` and wants the exit code.
func (s *stage) kubectl(code int, args ...string) said {
	s.Helper()
	var out, complaints bytes.Buffer
	c := s.command(args...)
	c.Stdout, c.Stderr = &out, &complaints
	err := c.Run()
	r := said{out.String(), complaints.String(), 0}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		r.code = exit.ExitCode()
	} else {
		s.must(err)
	}
	if r.code != code {
		s.Fatalf("kubectl etcdroll %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

func (s *stage) has(text string, wants ...string) {
	s.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			s.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

// follow runs `status -w` meanwhile and gives what it said at the end.
func (s *stage) follow(name string) (ended func() string) {
	s.Helper()
	var out bytes.Buffer
	c := s.command("status", name, "-w")
	c.Stdout, c.Stderr = &out, &out
	s.must(c.Start())
	return func() string {
		_ = c.Process.Signal(syscall.SIGINT)
		if err := c.Wait(); err != nil {
			s.Errorf("status -w: %v", err)
		}
		return out.String()
	}
}

// adopt takes a set in charge that nobody has guarded so far.
func (s *stage) adopt() {
	s.Helper()
	before := s.observer.Set()
	dry := s.kubectl(0, "adopt", "etcd", "--dry-run=server")
	s.has(dry.out, `label etcdroll.dev/managed: "" -> "true"`, "partition: 0 -> 3 (locked)", "dry run")
	if now := s.observer.Set(); now.Partition != before.Partition || now.Generation != before.Generation {
		s.Errorf("a dry run changed the set: partition %d, generation %d", now.Partition, now.Generation)
	}
	file := filepath.Join(s.TempDir(), "config.yaml")
	s.must(os.WriteFile(file, []byte("cooldownSeconds: 1\nreadyTimeoutSeconds: 60\n"), 0o600))
	s.has(s.kubectl(0, "adopt", "etcd", "--config-file="+file).out, "result: adopted")
	set, err := shared.Client.AppsV1().StatefulSets(s.namespace).Get(s.ctx, "etcd", getOptions)
	s.must(err)
	if got := *set.Spec.UpdateStrategy.RollingUpdate.Partition; got != 3 || set.Labels[events.LabelManaged] != "true" || set.Annotations[events.AnnotationConfig] != "etcd-etcdroll" {
		s.Errorf("adopted with partition %d, labels %v, annotations %v", got, set.Labels, set.Annotations)
	}
	for _, e := range set.ManagedFields {
		if e.Manager == "kubectl-etcdroll" && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte("f:partition")) {
			s.Error("the plugin claims the partition after adopting")
		}
	}
	s.has(s.kubectl(0, "adopt", "etcd").out, "nothing to change")
}

func TestThePluginShowsAndSteersARoll(t *testing.T) {
	t.Parallel()
	s := newStage(t, etcdset.Options{Native: true})
	s.adopt()
	s.has(s.kubectl(1, "wait", "etcd", "--timeout=1s").err, "not converged within 1s", "Unmarked")
	s.direct()
	s.has(s.kubectl(0, "wait", "etcd", "--timeout=90s").out, "converged at")
	s.has(s.kubectl(0, "status", "--all-namespaces").out, s.namespace, "Converged")
	s.has(s.kubectl(1, "resume", "etcd").err, "neither halted nor paused")

	s.leaderAt(2)
	s.has(s.kubectl(0, "pause", "etcd").out, "is paused")
	s.must(s.set.Edit(s.ctx, etcdset.ToVersion("3.7.3")))
	s.must(s.rolling())
	s.must(s.observer.Until(s.ctx, formsWithin, "the pause is not marked", func(v observer.View) bool {
		return v.Set.Annotations[events.AnnotationPhase] == events.PhasePaused
	}))
	s.has(s.kubectl(0, "status", "etcd").out, "Paused", "0/3", "etcd-2  old", "leader", "2 to come")
	s.planned()
	lines := s.follow("etcd")
	s.has(s.kubectl(0, "resume", "etcd").out, "no longer paused", "leadership moves off etcd-2")
	s.kubectl(0, "wait", "etcd", "--timeout=3m")
	s.happy()
	s.has(lines(), "Rolling", "etcd-0: revision new", "etcd-1: revision new", "etcd-2: revision new", "Converged 3/3")
	s.has(s.kubectl(0, "history", "etcd").out, "leader moves: 2, unplanned elections: 0", "etcd-2: Ready after", "Converged")
}

// planned checks the plan of a set that has all before it.
func (s *stage) planned() {
	s.Helper()
	var plan struct {
		Next          struct{ Reason string }
		ToGo          []string `json:"podsToReplace"`
		Moves         int      `json:"leaderMovesToCome"`
		Gates         []struct{ Gate, Verdict, Measured string }
		Configuration []struct{ Key, Value, From string }
	}
	began := time.Now()
	s.must(json.Unmarshal([]byte(s.kubectl(0, "plan", "etcd", "-o", "json").out), &plan))
	if took := time.Since(began); took > 10*time.Second {
		s.Errorf("plan took %s", took)
	}
	if plan.Next.Reason != "Paused" || plan.Moves != 2 || !slices.Equal(plan.ToGo, []string{"etcd-2", "etcd-1", "etcd-0"}) || len(plan.Gates) != 18 {
		s.Errorf("plan %+v", plan)
	}
	for _, g := range plan.Gates {
		if g.Measured == "" {
			s.Errorf("gate %s was not measured", g.Gate)
		}
	}
	for _, c := range plan.Configuration {
		if c.Key == "cooldownSeconds" && (c.Value != "1s" || c.From != "config.yaml key cooldownSeconds") {
			s.Errorf("configuration %+v", c)
		}
	}
}

func TestThePluginTellsAHalt(t *testing.T) {
	t.Parallel()
	s := newStage(t, impatient())
	s.direct()
	s.settled()
	s.breaks()
	id := s.observer.Set().Annotations[events.AnnotationHaltID]
	s.has(s.kubectl(2, "wait", "etcd", "--timeout=30s").err, "is halted", "PodBroken", "etcd-2", "What to do")
	s.has(s.kubectl(2, "plan", "etcd").out, "Halted", "PodBroken")
	s.has(s.kubectl(0, "status", "etcd").out, "Halted  #", " 1/3 ", "halt "+id, "etcd-2  new       no")
	s.has(s.kubectl(1, "resume", "etcd", "--halt-id=other").err, "is halted as "+id)
	s.has(s.kubectl(0, "resume", "etcd").out, "halt "+id, "is cleared", "next: ")
	s.must(s.observer.Until(s.ctx, rollsWithin, "the halt is not cleared", func(v observer.View) bool {
		return v.Set.Annotations[events.AnnotationHaltID] != id
	}))
}

// A plan of nine members that want certificates takes less than three seconds;
// the best of three counts, since the machine does other things as well.
func TestThePluginPlansNineMembersWithTLS(t *testing.T) {
	t.Parallel()
	s := emptyStage(t)
	o := named("etcd")
	o.Replicas = 9
	s.createTLS(o)
	s.formed()
	best := time.Hour
	for range 3 {
		began := time.Now()
		out := s.kubectl(0, "plan", "etcd").out
		best = min(best, time.Since(began))
		s.has(out, "9 voters in every view", "pass       MembersReachable", "tls.certFile", "argument --cert-file")
	}
	s.Logf("plan of nine members: %s", best.Round(time.Millisecond))
	if best > 3*time.Second {
		s.Errorf("plan took %s", best)
	}
}
