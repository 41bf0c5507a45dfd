package events

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var payloads = map[string]any{
	TypeDiverged: Diverged{}, TypeContinue: Continue{}, TypeResume: Resume{},
	TypeStepped: Stepped{}, TypeBlocked: Blocked{}, TypeHalted: Halted{}, TypeConverged: Converged{},
}

type schema struct {
	Type       string            `json:"type"`
	Required   []string          `json:"required"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Examples   []json.RawMessage `json:"examples"`
}

// TestSchemasSayWhatTheStructsSay compares names, JSON types and what is required, at every depth.
func TestSchemasSayWhatTheStructsSay(t *testing.T) {
	for eventType, payload := range payloads {
		t.Run(eventType, func(t *testing.T) {
			compare(t, eventType, load(t, eventType), reflect.TypeOf(payload))
		})
	}
}

func TestSchemaExamplesDecodeAndComeBackUnchanged(t *testing.T) {
	for eventType, payload := range payloads {
		examples := load(t, eventType).Examples
		if len(examples) == 0 {
			t.Errorf("%s: no example", eventType)
		}
		for _, example := range examples {
			decoder := json.NewDecoder(bytes.NewReader(example))
			decoder.DisallowUnknownFields()
			value := reflect.New(reflect.TypeOf(payload))
			if err := decoder.Decode(value.Interface()); err != nil {
				t.Errorf("%s: %v", eventType, err)
			}
			again, err := json.Marshal(value.Interface())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(generic(t, example), generic(t, again)); diff != "" {
				t.Errorf("%s: the struct loses something: %s", eventType, diff)
			}
		}
	}
}

func TestUnknownTypeHasNoSchema(t *testing.T) {
	if _, err := Schema("../keys"); err == nil {
		t.Error("want an error")
	}
}

// TestET30_IDsAreText: a member id or a raft term has up to 64 bits and does not survive a JavaScript number.
func TestET30_IDsAreText(t *testing.T) {
	properties := load(t, TypeStepped).Properties
	for _, name := range []string{"leader", "term"} {
		if got := properties[name].Type; got != "string" {
			t.Errorf("%s is a JSON %s", name, got)
		}
	}
}

func load(t *testing.T, eventType string) schema {
	t.Helper()
	raw, err := Schema(eventType)
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func generic(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func compare(t *testing.T, path string, s schema, goType reflect.Type) {
	t.Helper()
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	if want := jsonType(goType); s.Type != want {
		t.Errorf("%s: schema says %q, the struct %q", path, s.Type, want)
		return
	}
	switch goType.Kind() {
	case reflect.Slice:
		compare(t, path+"[]", *s.Items, goType.Elem())
	case reflect.Struct:
		compareFields(t, path, s, goType)
	}
}

func compareFields(t *testing.T, path string, s schema, goType reflect.Type) {
	t.Helper()
	seen := 0
	for field := range goType.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		property, ok := s.Properties[name]
		if !ok {
			t.Errorf("%s: schema lacks %q", path, name)
			continue
		}
		seen++
		if required := options != "omitempty"; required != slices.Contains(s.Required, name) {
			t.Errorf("%s.%s: required is %t in the struct and not in the schema", path, name, required)
		}
		compare(t, path+"."+name, property, field.Type)
	}
	if seen != len(s.Properties) {
		t.Errorf("%s: schema has %d properties, the struct %d", path, len(s.Properties), seen)
	}
}

func jsonType(goType reflect.Type) string {
	switch goType.Kind() {
	case reflect.Struct:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	default:
		return goType.Kind().String()
	}
}
