// Package schemas holds docs/asyncapi.yaml and the JSON schemas to the events
// that pkg/events builds. It is a module of its own for the sake of the schema
// library.
package schemas

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/pkg/events"
)

const root = "../../.."

// document is asyncapi.yaml as JSON.
func document(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// at follows a path of keys.
func at(t *testing.T, v any, path ...string) map[string]any {
	t.Helper()
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	m, is := v.(map[string]any)
	if !is {
		t.Fatalf("asyncapi.yaml has no object at %v", path)
	}
	return m
}

// declared are the event types that keys.go has, read from its text so that a
// new one cannot be forgotten here.
func declared(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(root + "/pkg/events/keys.go")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, m := range regexp.MustCompile(`"(dev\.etcdroll\.[a-z.]+\.v\d+)"`).FindAllStringSubmatch(string(text), -1) {
		types = append(types, m[1])
	}
	slices.Sort(types)
	return types
}

// built is at least one event of every type, as the product builds them; the
// first of each has everything filled in, the second nothing that may be absent.
func built() []event.Event {
	target, now := events.Target{Namespace: "prod", Name: "etcd"}, time.Unix(1_800_000_000, 0)
	partition := int32(2)
	first := events.NewDiverged(target, events.Diverged{UID: "u", Generation: 3, TargetRevision: "etcd-1", Reason: "r", Fingerprint: "f"}, now)
	all := []event.Event{first, events.NewContinue(target, 4, now, now.Add(time.Second), &first), events.NewContinue(target, 0, now, time.Time{}, nil), events.NewResume(target, "h1", now)}
	for _, fact := range []events.Fact{
		events.Stepped{Seq: 1, TargetRevision: "etcd-1", Step: "Release", Reason: "Released", Message: "m", Pod: "etcd-2", Partition: &partition, Leader: "ab", Term: "7"},
		events.Stepped{},
		events.Blocked{Seq: 1, TargetRevision: "etcd-1", Reason: "GatesClosed", Message: strings.Repeat("long ", 400), Objections: []events.Objection{{Gate: "CaughtUp", Subject: "etcd-1", Measured: "9", Threshold: "0", Hard: true}}},
		events.Blocked{},
		events.Halted{Seq: 1, TargetRevision: "etcd-1", HaltID: "h", Reason: "PodBroken", Message: "m", Remedy: "r", Pod: "etcd-2", Node: "n"},
		events.Halted{},
		events.Converged{Seq: 9, TargetRevision: "etcd-1", Release: "v1", StartedAt: "2026-01-01T00:00:00Z", FinishedAt: "2026-01-01T00:01:00Z", Steps: 9, Moves: 1, WorstLag: "3", Attempts: 1,
			Overrides: []string{"Soaked"}, Members: []events.MemberTime{{Pod: "etcd-2", Seconds: 1.5}}},
		events.Converged{},
	} {
		all = append(all, events.NewFact(target, fact, now, &first))
	}
	return all
}

func compile(t *testing.T, name string, schema any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, schema); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t *testing.T, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func payload(t *testing.T, eventType string) *jsonschema.Schema {
	t.Helper()
	text, err := events.Schema(eventType)
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, eventType+".json", parse(t, text))
}

func TestWhatIsBuiltConformsToTheSchemas(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range built() {
		seen[e.Type()] = true
		if err := payload(t, e.Type()).Validate(parse(t, e.Data())); err != nil {
			t.Errorf("%s: %s\n%v", e.Type(), e.Data(), err)
		}
	}
	for _, eventType := range declared(t) {
		if !seen[eventType] {
			t.Errorf("%s is never built here", eventType)
		}
	}
}

func TestTheExamplesOfTheSchemasConformAndOthersDoNot(t *testing.T) {
	for _, eventType := range declared(t) {
		text, err := events.Schema(eventType)
		if err != nil {
			t.Fatal(err)
		}
		var s struct{ Examples []json.RawMessage }
		if err := json.Unmarshal(text, &s); err != nil || len(s.Examples) == 0 {
			t.Fatalf("%s: no example: %v", eventType, err)
		}
		for _, example := range s.Examples {
			if err := payload(t, eventType).Validate(parse(t, example)); err != nil {
				t.Errorf("%s: %v", eventType, err)
			}
		}
		if payload(t, eventType).Validate(parse(t, []byte(`{"invented":1}`))) == nil {
			t.Errorf("%s accepts anything", eventType)
		}
	}
}

func TestAsyncAPIListsExactlyOurTypes(t *testing.T) {
	d := document(t)
	var listed []string
	for key, message := range at(t, d, "components", "messages") {
		m := message.(map[string]any)
		name := m["name"].(string)
		listed = append(listed, name)
		if want := "../pkg/events/schemas/" + name + ".json"; at(t, m, "payload")["$ref"] != want {
			t.Errorf("%s has the payload %v, want %s", key, m["payload"], want)
		}
		if _, err := os.Stat(filepath.Join(root, "docs", at(t, m, "payload")["$ref"].(string))); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(listed)
	if want := declared(t); !slices.Equal(listed, want) {
		t.Errorf("asyncapi.yaml lists\n%v\nand keys.go\n%v", listed, want)
	}
	inChannels := map[string]any{}
	for _, channel := range at(t, d, "channels") {
		maps.Copy(inChannels, at(t, channel, "messages"))
	}
	if !reflect.DeepEqual(slices.Sorted(maps.Keys(inChannels)), slices.Sorted(maps.Keys(at(t, d, "components", "messages")))) {
		t.Errorf("the channels carry %v", slices.Sorted(maps.Keys(inChannels)))
	}
}

// The attributes of what is built, in structured mode and without the data, are
// those of the document.
func TestWhatIsBuiltHasTheAttributes(t *testing.T) {
	s := compile(t, "attributes.json", parse(t, jsonOf(t, at(t, document(t), "components", "schemas", "attributes"))))
	known := at(t, document(t), "components", "schemas", "attributes", "properties")
	for _, e := range built() {
		var attributes map[string]any
		if err := json.Unmarshal(jsonOf(t, e), &attributes); err != nil {
			t.Fatal(err)
		}
		delete(attributes, "data_base64") // what is sent is in binary mode, with the data as it is
		if err := s.Validate(parse(t, jsonOf(t, attributes))); err != nil {
			t.Errorf("%s: %v", e.Type(), err)
		}
		for name := range attributes {
			if known[name] == nil {
				t.Errorf("%s has the attribute %s, which asyncapi.yaml does not know", e.Type(), name)
			}
		}
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Structure, by the schema of the AsyncAPI project. Every reference is followed
// by hand, since their schema only wants that there is one.
func TestAsyncAPIIsAnAsyncAPIDocument(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "./asyncapi-schema.sh").Output()
	if err != nil {
		t.Skipf("the schema of AsyncAPI is not to be had: %v", err)
	}
	text, err := os.ReadFile(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	s := compile(t, "asyncapi-3.0.0.json", parse(t, text))
	d := document(t)
	if err := s.Validate(parse(t, jsonOf(t, d))); err != nil {
		t.Errorf("%v", err)
	}
	for _, reference := range regexp.MustCompile(`"\$ref":"#/([^"]+)"`).FindAllStringSubmatch(string(jsonOf(t, d)), -1) {
		at(t, d, strings.Split(reference[1], "/")...)
	}
	delete(d, "info")
	if s.Validate(parse(t, jsonOf(t, d))) == nil {
		t.Error("a document without info is accepted: this test shows nothing")
	}
}
