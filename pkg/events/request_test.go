package events

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

var (
	etcd = Target{Namespace: "prod", Name: "etcd"}
	noon = time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)
)

func divergence() Diverged {
	return Diverged{UID: "u-1", Generation: 3, TargetRevision: "etcd-b", Reason: "because", Fingerprint: "f", Seq: 7}
}

func TestParseReadsWhatTheConstructorsBuild(t *testing.T) {
	later := noon.Add(1500 * time.Millisecond)
	first := NewDiverged(etcd, divergence(), noon)
	next := NewContinue(etcd, 8, noon, later, &first)
	for name, c := range map[string]struct {
		event event.Event
		want  Request
	}{
		"diverged": {first, Request{Target: etcd, Kind: KindDiverged, Seq: 7, HasSeq: true, Source: SourceTrigger}},
		"continue": {next, Request{Target: etcd, Kind: KindContinue, Seq: 8, HasSeq: true, NotBefore: later, Source: SourceFunction}},
		"resume":   {NewResume(etcd, "etcd-b-7", noon), Request{Target: etcd, Kind: KindResume, HaltID: "etcd-b-7", Source: SourcePerson}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.event.Validate(); err != nil {
				t.Fatalf("the constructor made an invalid event: %v", err)
			}
			got, err := Parse(c.event)
			if err != nil {
				t.Fatal(err)
			}
			c.want.Type, c.want.ID, c.want.Trace = c.event.Type(), c.event.ID(), got.Trace
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if got.Trace.Parent == "" {
				t.Error("no trace context")
			}
		})
	}
}

func TestKN02_UnknownTypesAndFactsAskForNothing(t *testing.T) {
	foreign := event.New()
	foreign.SetType("com.example.something")
	if _, err := Parse(foreign); !errors.Is(err, ErrUnknownType) {
		t.Errorf("foreign type: %v", err)
	}
	for _, fact := range []Fact{Stepped{}, Blocked{}, Halted{}, Converged{}} {
		e := NewFact(etcd, fact, noon, nil)
		if err := e.Validate(); err != nil {
			t.Errorf("%s: %v", fact.Type(), err)
		}
		if _, err := Parse(e); !errors.Is(err, ErrFact) {
			t.Errorf("%s: %v", fact.Type(), err)
		}
	}
}

func apiServerEvent(eventType, subject string) event.Event {
	e := event.New()
	e.SetType(eventType)
	e.SetID("1")
	e.SetSource("https://10.0.0.1:443")
	e.SetSubject(subject)
	_ = e.SetData(event.ApplicationJSON, json.RawMessage(`{"spec":"`+strings.Repeat("x", 9000)+`"}`))
	return e
}

func TestApiServerSourceEventsAreHints(t *testing.T) {
	for _, eventType := range []string{
		TypeAPIServerAdd, TypeAPIServerUpdate, TypeAPIServerDelete,
		TypeAPIServerRefAdd, TypeAPIServerRefUpdate, TypeAPIServerRefDelete,
	} {
		got, err := Parse(apiServerEvent(eventType, "/apis/apps/v1/namespaces/prod/statefulsets/etcd"))
		if err != nil || got.Target != etcd || got.Kind != KindHint || got.HasSeq {
			t.Errorf("%s: %+v, %v", eventType, got, err)
		}
	}
	for _, subject := range []string{
		"/apis/v1/namespaces/prod/pods/etcd-0", "/apis/apps/v1/namespaces/prod/deployments/etcd", "prod/etcd", "",
	} {
		if _, err := Parse(apiServerEvent(TypeAPIServerUpdate, subject)); !errors.Is(err, ErrUnknownType) {
			t.Errorf("%q: %v, want ErrUnknownType", subject, err)
		}
	}
	var field *FieldError
	_, err := Parse(apiServerEvent(TypeAPIServerUpdate, "/apis/apps/v1/namespaces/prod/statefulsets/ET"))
	if !errors.As(err, &field) || field.Field != "subject" {
		t.Errorf("bad name: %v", err)
	}
}

func TestKN15_MalformedEventsAreRefusedByField(t *testing.T) {
	cont := func(change func(*event.Event)) event.Event {
		e := NewContinue(etcd, 8, noon, noon, nil)
		change(&e)
		return e
	}
	resume := func(contentType, data string) event.Event {
		e := NewResume(etcd, "x", noon)
		_ = e.SetData(contentType, []byte(data))
		return e
	}
	for name, c := range map[string]struct {
		event event.Event
		field string
	}{
		"no subject":         {cont(func(e *event.Event) { e.SetSubject("") }), "subject"},
		"foreign subject":    {cont(func(e *event.Event) { e.SetSubject("kube-system/../x") }), "subject"},
		"no sequence":        {cont(func(e *event.Event) { e.SetExtension(ExtSequence, nil) }), "sequence"},
		"negative sequence":  {cont(func(e *event.Event) { e.SetExtension(ExtSequence, "-1") }), "sequence"},
		"signed sequence":    {cont(func(e *event.Event) { e.SetExtension(ExtSequence, "+1") }), "sequence"},
		"huge sequence":      {cont(func(e *event.Event) { e.SetExtension(ExtSequence, "9999999999999999999") }), "sequence"},
		"wordy sequence":     {cont(func(e *event.Event) { e.SetExtension(ExtSequence, "seven") }), "sequence"},
		"bad notbefore":      {cont(func(e *event.Event) { e.SetExtension(ExtNotBefore, "soon") }), "notbefore"},
		"no id":              {cont(func(e *event.Event) { e.Context.(*event.EventContextV1).ID = "" }), "id"},
		"no source":          {cont(func(e *event.Event) { _ = e.Context.(*event.EventContextV1).SetSource("") }), "source"},
		"old spec":           {cont(func(e *event.Event) { e.SetSpecVersion(event.CloudEventsVersionV03) }), "specversion"},
		"large data":         {cont(func(e *event.Event) { _ = e.SetData("text/plain", make([]byte, MaxData+1)) }), "data"},
		"resume, no json":    {resume(event.ApplicationJSON, "halt-1"), "data"},
		"resume, other type": {resume("text/plain", `{"haltId":"x"}`), "datacontenttype"},
		"resume, no id":      {resume(event.ApplicationJSON, `{}`), "data.haltId"},
		"resume, odd id":     {resume(event.ApplicationJSON, `{"haltId":"a b"}`), "data.haltId"},
		"resume, long id":    {resume(event.ApplicationJSON, `{"haltId":"`+strings.Repeat("a", 129)+`"}`), "data.haltId"},
		"no context":         {event.Event{}, "specversion"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(c.event)
			var field *FieldError
			if !errors.As(err, &field) || field.Field != c.field {
				t.Fatalf("got %+v, %v; want an error about %q", got, err, c.field)
			}
			if got != (Request{}) {
				t.Errorf("a refused event still says %+v", got)
			}
		})
	}
}

func TestSequenceIsReadHoweverItIsWritten(t *testing.T) {
	for _, written := range []any{"8", "0000000000000000008", int32(8)} {
		e := NewContinue(etcd, 1, noon, noon, nil)
		e.SetExtension(ExtSequence, written)
		got, err := Parse(e)
		if err != nil || got.Seq != 8 {
			t.Errorf("%v: %+v, %v", written, got, err)
		}
	}
	if a, b := FormatSequence(9), FormatSequence(10); a >= b {
		t.Errorf("%s does not sort before %s", a, b)
	}
}

// FuzzParse: whatever arrives over HTTP, Parse neither panics nor believes more than a valid name, a sequence that
// cannot be negative and a halt id of a resume.
func FuzzParse(f *testing.F) {
	for _, e := range []event.Event{
		NewDiverged(etcd, divergence(), noon), NewContinue(etcd, 3, noon, noon, nil), NewResume(etcd, "h-1", noon),
		NewFact(etcd, Stepped{Seq: 1}, noon, nil), apiServerEvent(TypeAPIServerRefUpdate, "/apis/apps/v1/namespaces/a/statefulsets/b"),
	} {
		raw, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("application/cloudevents+json", e.Type(), e.Subject(), "3", raw)
		f.Add(event.ApplicationJSON, e.Type(), e.Subject(), "0000000000000000003", e.Data())
	}
	f.Add("application/cloudevents-batch+json", TypeDiverged, "a/b", "1", []byte("[]"))
	f.Add("text/plain", TypeResume, "a/b/c", "-1", []byte(`{"haltId":1}`))
	f.Fuzz(func(t *testing.T, contentType, eventType, subject, sequence string, body []byte) {
		header := http.Header{}
		for name, value := range map[string]string{
			"Content-Type": contentType, "Ce-Specversion": "1.0", "Ce-Id": "1", "Ce-Source": "/x",
			"Ce-Type": eventType, "Ce-Subject": subject, "Ce-Sequence": sequence,
		} {
			header.Set(name, value)
		}
		e, err := Decode(header, strings.NewReader(string(body)), 64<<10)
		if err != nil {
			return
		}
		r, err := Parse(*e)
		if err != nil {
			if r != (Request{}) {
				t.Fatalf("refused (%v) but says %+v", err, r)
			}
			return
		}
		if r.Target.Validate() != nil || r.Kind == KindUnknown || r.Seq < 0 {
			t.Fatalf("believed %+v", r)
		}
		if (r.HaltID != "") != (r.Kind == KindResume) || (r.Kind == KindContinue && !r.HasSeq) {
			t.Fatalf("believed %+v", r)
		}
	})
}
