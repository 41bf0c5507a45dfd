package fn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// overrideFields is one override as it is written.
type overrideFields struct {
	Gate     string `json:"gate"`
	Revision string `json:"revision"`
	Until    string `json:"until"`
	Reason   string `json:"reason"`
}

const overrideRemedy = `write gate=NAME,revision=REVISION,until=2026-01-31T18:00:00Z,reason=TEXT, or a JSON list of objects with these four keys`

// toOverrides reads the override annotation: one override in words, or a JSON
// list. One bad override voids them all, since a person who mistyped one does
// not expect the step that the rest would allow.
func toOverrides(text string) ([]guard.Override, *roll.ConfigProblem) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	written, err := readOverrides(strings.TrimSpace(text))
	var out []guard.Override
	for i := 0; err == nil && i < len(written); i++ {
		var o guard.Override
		if o, err = written[i].check(); err == nil {
			out = append(out, o)
		}
	}
	if err != nil {
		return nil, invalid("annotation %s: %v; %s", events.AnnotationOverride, err, overrideRemedy)
	}
	return out, nil
}

func readOverrides(text string) ([]overrideFields, error) {
	if !strings.HasPrefix(text, "[") {
		one, err := readOverrideWords(text)
		return []overrideFields{one}, err
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	var list []overrideFields
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("not a list of overrides: %w", err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("more than one list")
	}
	return list, nil
}

// readOverrideWords reads key=value pairs; the reason comes last and may hold
// anything.
func readOverrideWords(text string) (overrideFields, error) {
	var o overrideFields
	targets := map[string]*string{"gate": &o.Gate, "revision": &o.Revision, "until": &o.Until, "reason": &o.Reason}
	for rest := text; rest != ""; {
		key, value, given := strings.Cut(rest, "=")
		key = strings.TrimSpace(key)
		target, known := targets[key]
		if !given || !known {
			return o, fmt.Errorf("%s is none of gate=, revision=, until=, reason=", quoted(key))
		}
		delete(targets, key) // a second one is not known any more
		rest = ""
		if key != "reason" {
			value, rest, _ = strings.Cut(value, ",")
		}
		*target = strings.TrimSpace(value)
	}
	return o, nil
}

// check accepts an override that could apply. One that has expired or names
// another revision is in order and without effect.
func (o overrideFields) check() (guard.Override, error) {
	gates := guard.Gates()
	at := slices.IndexFunc(gates, func(g guard.About) bool { return g.Gate == guard.Gate(o.Gate) })
	switch {
	case at < 0:
		return guard.Override{}, fmt.Errorf("%s is no gate", quoted(o.Gate))
	case gates[at].Kind != guard.Soft && gates[at].Gate != guard.AlarmsAbsent:
		return guard.Override{}, fmt.Errorf("gate %s is hard and cannot be overridden", o.Gate)
	case o.Revision == "":
		return guard.Override{}, fmt.Errorf("revision is missing")
	case strings.TrimSpace(o.Reason) == "":
		return guard.Override{}, fmt.Errorf("reason is missing")
	}
	until, err := time.Parse(time.RFC3339, o.Until)
	if err != nil {
		return guard.Override{}, fmt.Errorf("until %s is no RFC 3339 time", quoted(o.Until))
	}
	return guard.Override{Gate: guard.Gate(o.Gate), Revision: o.Revision, Until: until, Reason: oneLine(o.Reason, 200)}, nil
}
