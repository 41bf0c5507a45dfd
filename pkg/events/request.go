package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"regexp"
	"strconv"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
)

// Kind says what an event asks for.
type Kind int

const (
	// KindUnknown is the zero value and asks for nothing.
	KindUnknown Kind = iota
	// KindDiverged is the trigger's request to look at a set.
	KindDiverged
	// KindContinue is the function's own request for the next step.
	KindContinue
	// KindResume is a person's request to clear one halt.
	KindResume
	// KindHint is an event of Knative's ApiServerSource about a set; it is treated like KindDiverged.
	KindHint
)

// String is the word used in logs and metrics.
func (k Kind) String() string {
	switch k {
	case KindDiverged:
		return "diverged"
	case KindContinue:
		return "continue"
	case KindResume:
		return "resume"
	case KindHint:
		return "hint"
	default:
		return "unknown"
	}
}

// Request is all that is believed of an event.
type Request struct {
	Target Target
	Kind   Kind
	// Seq is the sequence of the rollout record at which the continuation was made. It is valid only if HasSeq, which
	// is always so for KindContinue.
	Seq    int64
	HasSeq bool
	// HaltID is the halt that KindResume wants cleared; empty for every other kind.
	HaltID string
	// NotBefore is the time before which the sender wanted no delivery; zero if it did not say.
	NotBefore time.Time
	// Type, Source and ID are those of the event, for logs only.
	Type, Source, ID string
	// Trace is the trace context that answers carry on.
	Trace Trace
}

var (
	// ErrUnknownType says that an event is not for us: it is answered with success, without action and without reply.
	ErrUnknownType = errors.New("event type is not one that asks for anything here")
	// ErrFact says that an event tells what has happened and asks for nothing; it is answered like ErrUnknownType.
	ErrFact = errors.New("event is a fact and asks for nothing")
)

// FieldError says which attribute of an event is malformed.
type FieldError struct {
	// Field is the CloudEvents attribute, or "data".
	Field string
	// Problem is a phrase that follows the field's name.
	Problem string
}

// Error names the attribute first.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

func malformed(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

var kinds = map[string]Kind{
	TypeDiverged:           KindDiverged,
	TypeContinue:           KindContinue,
	TypeResume:             KindResume,
	TypeAPIServerAdd:       KindHint,
	TypeAPIServerUpdate:    KindHint,
	TypeAPIServerDelete:    KindHint,
	TypeAPIServerRefAdd:    KindHint,
	TypeAPIServerRefUpdate: KindHint,
	TypeAPIServerRefDelete: KindHint,
}

var facts = map[string]bool{TypeStepped: true, TypeBlocked: true, TypeHalted: true, TypeConverged: true}

// Parse reads the request out of an event. It returns ErrUnknownType or ErrFact (wrapped) for an event that asks for
// nothing, and a *FieldError for a malformed one. The type is judged first: what is wrong with an event of a foreign
// type is none of our business.
func Parse(e event.Event) (Request, error) {
	if e.Context == nil {
		return Request{}, malformed("specversion", "is missing")
	}
	if facts[e.Type()] {
		return Request{}, fmt.Errorf("%s: %w", e.Type(), ErrFact)
	}
	kind, known := kinds[e.Type()]
	if !known {
		return Request{}, fmt.Errorf("%s: %w", quote(e.Type()), ErrUnknownType)
	}
	if err := checkEnvelope(e, kind); err != nil {
		return Request{}, err
	}
	r := Request{Kind: kind, Type: e.Type(), Source: e.Source(), ID: e.ID(), Trace: traceOf(e)}
	for _, read := range []func(event.Event, *Request) error{readTarget, readSequence, readNotBefore, readHaltID} {
		if err := read(e, &r); err != nil {
			return Request{}, err
		}
	}
	return r, nil
}

func checkEnvelope(e event.Event, kind Kind) error {
	if v := e.SpecVersion(); v != event.CloudEventsVersionV1 {
		return malformed("specversion", "is %s, only %s is understood", quote(v), event.CloudEventsVersionV1)
	}
	if e.ID() == "" {
		return malformed("id", "is missing")
	}
	if e.Source() == "" {
		return malformed("source", "is missing")
	}
	if size := len(e.Data()); kind != KindHint && size > MaxData {
		return malformed("data", "has %d bytes, at most %d are allowed", size, MaxData)
	}
	return nil
}

func readTarget(e event.Event, r *Request) error {
	if r.Kind != KindHint {
		t, err := ParseSubject(e.Subject())
		if err != nil {
			return malformed("subject", "%v", err)
		}
		r.Target = t
		return nil
	}
	t, isSet, err := parseAPIPath(e.Subject())
	if err != nil {
		return malformed("subject", "%v", err)
	}
	if !isSet {
		return fmt.Errorf("%s about %s, which is no StatefulSet: %w", e.Type(), quote(e.Subject()), ErrUnknownType)
	}
	r.Target = t
	return nil
}

var decimal = regexp.MustCompile(`^[0-9]{1,19}$`)

func readSequence(e event.Event, r *Request) error {
	// A hint's sequence would be somebody else's counter.
	if r.Kind == KindHint {
		return nil
	}
	text, given := extension(e, ExtSequence)
	if !given {
		if r.Kind == KindContinue {
			return malformed(ExtSequence, "is missing; a continuation must carry it")
		}
		return nil
	}
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !decimal.MatchString(text) {
		return malformed(ExtSequence, "%s is not a decimal number from 0 to 2^63-1", quote(text))
	}
	r.Seq, r.HasSeq = seq, true
	return nil
}

func readNotBefore(e event.Event, r *Request) error {
	text, given := extension(e, ExtNotBefore)
	if !given || r.Kind == KindHint {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return malformed(ExtNotBefore, "%s is not an RFC 3339 time", quote(text))
	}
	r.NotBefore = at.UTC()
	return nil
}

// haltID has its greatest length apart: counted in the expression it would make
// each start of a process by milliseconds longer.
var haltID = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9._]*$`)

const haltIDMost = 128

func readHaltID(e event.Event, r *Request) error {
	if r.Kind != KindResume {
		return nil
	}
	if media, _, err := mime.ParseMediaType(e.DataContentType()); err != nil || media != event.ApplicationJSON {
		return malformed("datacontenttype", "%s is not %s", quote(e.DataContentType()), event.ApplicationJSON)
	}
	var data Resume
	if err := json.Unmarshal(e.Data(), &data); err != nil {
		return malformed("data", "is not the JSON of a resume request: %v", err)
	}
	if len(data.HaltID) > haltIDMost || !haltID.MatchString(data.HaltID) {
		return malformed("data.haltId", "%s is not the id of a halt", quote(data.HaltID))
	}
	r.HaltID = data.HaltID
	return nil
}

// extension reads an extension attribute as text. Structured events may carry it as a JSON number.
func extension(e event.Event, name string) (string, bool) {
	value, ok := e.Extensions()[name]
	if !ok || value == nil {
		return "", false
	}
	text, err := types.Format(value)
	if err != nil {
		return "", true
	}
	return text, true
}
