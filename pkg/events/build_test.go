package events

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

func TestSS15_EventIDDiffersForEachGenerationAndRepeatsOtherwise(t *testing.T) {
	base := divergence()
	id := func(change func(*Diverged)) string {
		d := base
		change(&d)
		e := NewDiverged(etcd, d, noon)
		return e.ID()
	}
	same := func(*Diverged) {}
	later := NewDiverged(etcd, base, noon.Add(time.Hour))
	if id(same) != later.ID() {
		t.Error("the time of sending changes the id, so a repeated delivery is not recognisable")
	}
	seen := map[string]string{id(same): "base"}
	for name, change := range map[string]func(*Diverged){
		"uid":         func(d *Diverged) { d.UID = "u-2" },
		"generation":  func(d *Diverged) { d.Generation = 5 }, // A to B to A: same revision, other generation
		"revision":    func(d *Diverged) { d.TargetRevision = "etcd-c" },
		"beat":        func(d *Diverged) { d.Beat = 1 },
		"fingerprint": func(d *Diverged) { d.Fingerprint = "g" },
		"seq":         func(d *Diverged) { d.Seq = 8 },
	} {
		got := id(change)
		if other, dup := seen[got]; dup {
			t.Errorf("changing %s gives the id of %s", name, other)
		}
		seen[got] = name
	}
}

func TestContinuationOfARepeatedDeliveryHasTheSameID(t *testing.T) {
	parent := NewDiverged(etcd, divergence(), noon)
	a, b := NewContinue(etcd, 8, noon, noon, &parent), NewContinue(etcd, 8, noon.Add(time.Minute), noon, &parent)
	if a.ID() != b.ID() {
		t.Error("two answers to one event differ in id")
	}
	next := NewContinue(etcd, 8, noon, noon, &a)
	if next.ID() == a.ID() {
		t.Error("a waiting chain repeats its id at the next hop")
	}
}

func TestTraceIsCarriedFromHopToHop(t *testing.T) {
	parent := NewDiverged(etcd, divergence(), noon)
	parent.SetExtension(ExtTraceParent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	parent.SetExtension(ExtTraceState, "vendor=1")
	child := NewContinue(etcd, 8, noon, noon, &parent)
	got := traceOf(child)
	if !strings.HasPrefix(got.Parent, "00-0af7651916cd43dd8448eb211c80319c-") || !strings.HasSuffix(got.Parent, "-00") {
		t.Errorf("trace id or flags lost: %q", got.Parent)
	}
	if strings.Contains(got.Parent, "b7ad6b7169203331") || got.State != "vendor=1" {
		t.Errorf("span not renewed or state lost: %+v", got)
	}
	parent.SetExtension(ExtTraceParent, "garbage")
	orphan := NewContinue(etcd, 8, noon, noon, &parent)
	if got := traceOf(orphan); got.Parent == "" || got.State != "" {
		t.Errorf("a broken trace should be replaced by a new one: %+v", got)
	}
}

func TestEveryEventCarriesSubjectPartitionKeyAndSequence(t *testing.T) {
	for _, e := range []event.Event{
		NewDiverged(etcd, divergence(), noon), NewContinue(etcd, 7, noon, noon, nil),
		NewFact(etcd, Converged{Seq: 7}, noon, nil),
	} {
		key, _ := extension(e, ExtPartitionKey)
		seq, _ := extension(e, ExtSequence)
		if e.Subject() != "prod/etcd" || key != "prod/etcd" || seq != FormatSequence(7) || !e.Time().Equal(noon) {
			t.Errorf("%s: subject %q, partitionkey %q, sequence %q, time %s", e.Type(), e.Subject(), key, seq, e.Time())
		}
	}
}

func TestFactsKeepToTheSizeLimit(t *testing.T) {
	long := strings.Repeat("ü long <story> ", 200)
	blocked := Blocked{Seq: 1, Reason: "GatesClosed", Message: long}
	for range 30 {
		blocked.Objections = append(blocked.Objections, Objection{Gate: "CaughtUp", Subject: "etcd-1", Measured: "6120"})
	}
	converged := Converged{Seq: 1, Overrides: []string{"Soaked"}}
	for range 99 {
		converged.Members = append(converged.Members, MemberTime{Pod: "etcd-1", Seconds: 12.5})
	}
	for _, fact := range []Fact{
		Stepped{Message: long}, blocked, Halted{Message: long, Remedy: long}, converged,
		Blocked{Objections: []Objection{{Gate: "x", Measured: long}}},
	} {
		e := NewFact(etcd, fact, noon, nil)
		if n := len(e.Data()); n > MaxData || n < 20 {
			t.Errorf("%s: %d bytes", fact.Type(), n)
		}
		if !json.Valid(e.Data()) {
			t.Errorf("%s: not JSON: %s", fact.Type(), e.Data())
		}
	}
	var kept Blocked
	e := NewFact(etcd, blocked, noon, nil)
	if err := json.Unmarshal(e.Data(), &kept); err != nil || len(kept.Objections)+kept.Omitted != 30 {
		t.Errorf("%d objections kept, %d omitted (%v), want 30 together", len(kept.Objections), kept.Omitted, err)
	}
}
