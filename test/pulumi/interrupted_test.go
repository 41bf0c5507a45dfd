package pulumi

import (
	"strings"
	"syscall"
	"testing"

	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// An update that dies in mid-roll changes nothing for the roll; repeated, it
// waits for the same end.
func TestAnInterruptedUpdateResumes(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "interrupted": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			args := map[string]any{"name": "etcd", "config": "etcd-roll", "timeoutSeconds": 150, "leavePartition": true}
			first := w.inCode("transforms", "one", args)
			w.watch()
			first.passed(upWithin)
			w.mark = w.observer.Mark()

			second := w.inCode("transforms", "two", args)
			w.open()
			must(t, syscall.Kill(-second.process.PID(), signal))
			if text, took, err := second.ended(upWithin); err == nil {
				t.Fatalf("pulumi passed after %s although it was stopped:\n%s", took, text)
			}
			if signal == syscall.SIGKILL { // the dead CLI holds the stack's lock
				w.engine.start(t, w.dir, "pulumi", "cancel", "--yes", "--stack=dev").passed(noopWithin)
			}
			_, took := w.inCode("transforms", "two", args).passed(upWithin)
			w.converged("two")
			w.guarded()
			t.Logf("repeated, it returned after %s", took)
		})
	}
}

// open waits until a pod is released.
func (w *world) open() {
	w.Helper()
	must(w.T, w.observer.Until(w.ctx, upWithin, "no pod was released", func(v observer.View) bool { return !v.Set.Locked() }))
}

// PU-07: while a pod is released, an update that declares the lock ends with a
// conflict that names etcdroll, and changes nothing. One that leaves the
// partition to etcdroll goes through, and its template is rolled as well.
func TestPU07_AnUpdateWhileAPodIsReleased(t *testing.T) {
	w := newWorld(t)
	args := map[string]any{"name": "etcd", "config": "etcd-roll", "timeoutSeconds": 150}
	first := w.inCode("transforms", "one", args)
	w.watch()
	first.passed(upWithin)

	second := w.inCode("transforms", "two", args)
	w.open()
	w.function.Kill() // whatever is open stays open
	second.process.Kill()
	w.engine.start(t, w.dir, "pulumi", "cancel", "--yes", "--stack=dev").passed(noopWithin)
	before := w.live()

	text, _, err := w.inCode("transforms", "three", args).ended(upWithin)
	if err == nil || !strings.Contains(text, "etcdroll") || !strings.Contains(text, "partition") {
		t.Errorf("no conflict that names etcdroll and the partition: %v\n%s", err, text)
	}
	if after := w.live(); after.Generation != before.Generation {
		t.Errorf("the refused update changed the set: generation %d, was %d", after.Generation, before.Generation)
	}

	args["leavePartition"] = true
	third := w.inCode("transforms", "three", args)
	must(t, w.observer.Until(w.ctx, upWithin, "the update was not applied", func(v observer.View) bool { return v.Set.Generation > before.Generation }))
	must(t, w.function.Start())
	third.passed(upWithin)
	w.converged("three")
}
