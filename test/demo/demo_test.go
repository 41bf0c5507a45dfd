package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

// kept is a roll in which everything went as promised.
func kept() result {
	pod := func(i int) observer.PodState {
		return observer.PodState{Index: i, UID: "u", Revision: "b", Ready: true}
	}
	return result{name: "etcdroll", Report: observer.Report{
		PodsDown: 1, MembersDown: 1, Deletions: map[int]int{0: 1, 1: 1, 2: 1},
		Final: observer.View{
			Set: observer.SetState{Replicas: 3, Partition: 3, Update: "b", Current: "b", Annotations: map[string]string{
				events.AnnotationPhase: events.PhaseConverged, events.AnnotationConvergedRevision: "b"}},
			Pods: []observer.PodState{pod(0), pod(1), pod(2)},
		},
	}}
}

func TestTheDemoFailsWhenAPromiseIsBroken(t *testing.T) {
	if broken := kept().broken(); len(broken) != 0 {
		t.Fatalf("a faultless roll breaks %v", broken)
	}
	for name, spoil := range map[string]func(*result){
		"unplanned":   func(r *result) { r.Unplanned = 1 },
		"pods down":   func(r *result) { r.PodsDown = 2 },
		"members":     func(r *result) { r.MembersDown = 2 },
		"open":        func(r *result) { r.Final.Set.Partition = 0 },
		"unconverged": func(r *result) { r.Final.Set.Annotations[events.AnnotationPhase] = events.PhaseRolling },
		"led":         func(r *result) { r.Led = []string{"pod 1 was deleted while its member led"} },
		"twice":       func(r *result) { r.Deletions[1] = 2 },
	} {
		r := kept()
		spoil(&r)
		if len(r.broken()) == 0 {
			t.Errorf("%s: nobody noticed", name)
		}
	}
}

func TestPlainOutputSaysOnlyWhatChanged(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out}
	f := frame{thought: thought{Reason: "Soaking", Why: "etcd-2 Ready for 1s"}, members: []member{{name: "etcd-2", ready: "no"}}}
	s.draw(f)
	first := out.String()
	f.thought.Why, f.after = "etcd-2 Ready for 2s", time.Second
	s.draw(f)
	if out.String() != first {
		t.Errorf("a running number is told as a change:\n%s", out.String())
	}
	f.members[0].ready = "yes"
	s.draw(f)
	news := strings.TrimPrefix(out.String(), first)
	if strings.Count(news, "\n") != 1 || !strings.Contains(news, "ready yes") {
		t.Errorf("news: %q", news)
	}
}

func TestRedrawingGoesBackOverTheWholeBlock(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, redraw: true}
	f := frame{members: make([]member, 3)}
	s.draw(f)
	out.Reset()
	s.draw(f)
	if want := "\x1b[9A"; len(f.lines()) != 9 || !strings.HasPrefix(out.String(), want) {
		t.Errorf("%d lines, redrawn with %q", len(f.lines()), out.String())
	}
}

func TestThoughtsAreReadFromTheLogAsItGrows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	write := func(text string) {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	th := follow(file)
	if th.latest() != (thought{}) {
		t.Error("a thought before there is a log")
	}
	write(`{"msg":"listening"}` + "\n" + `{"msg":"visit","reason":"Released","message":"etcd-2 is released"}` + "\n" + `{"msg":"vis`)
	if got := th.latest(); got.Why != "etcd-2 is released" {
		t.Errorf("read %+v", got)
	}
	write(`it","reason":"Relocked"}` + "\n")
	if got := th.latest(); got.Reason != "Relocked" {
		t.Errorf("a line in two halves is read as %+v", got)
	}
}
