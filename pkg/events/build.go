package events

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// NewDiverged asks the function to look at a set. Its id is the same whenever everything in d is, so a repeated
// delivery is recognisable, and it differs for each generation even if a revision name comes back (A to B to A).
func NewDiverged(t Target, d Diverged, at time.Time) event.Event {
	e := newEvent(TypeDiverged, SourceTrigger, t, at)
	e.SetID(fingerprint(TypeDiverged, t.Subject(), d.UID, strconv.FormatInt(d.Generation, 10), d.TargetRevision,
		d.Fingerprint, strconv.FormatInt(d.Beat, 10), strconv.FormatInt(d.Seq, 10), d.Reason))
	setSequence(&e, d.Seq)
	setData(&e, d)
	setTrace(&e, rootTrace(fingerprint(t.Subject(), d.UID, d.TargetRevision), e.ID()))
	return e
}

// NewContinue asks for the step after seq, no sooner than notBefore (zero: at once). The trace goes on from parent,
// the event that is being answered, which may be nil. The answer to a repeated delivery of parent has the same id.
func NewContinue(t Target, seq int64, at, notBefore time.Time, parent *event.Event) event.Event {
	e := newEvent(TypeContinue, SourceFunction, t, at)
	e.SetID(fingerprint(TypeContinue, t.Subject(), strconv.FormatInt(seq, 10), parentID(parent)))
	setSequence(&e, seq)
	setData(&e, Continue{Seq: seq})
	if !notBefore.IsZero() {
		e.SetExtension(ExtNotBefore, notBefore.UTC().Format(time.RFC3339Nano))
	}
	setTrace(&e, childTrace(e.ID(), parent))
	return e
}

// NewResume asks to clear the halt haltID.
func NewResume(t Target, haltID string, at time.Time) event.Event {
	e := newEvent(TypeResume, SourcePerson, t, at)
	e.SetID(fingerprint(TypeResume, t.Subject(), haltID, at.UTC().Format(time.RFC3339Nano)))
	setData(&e, Resume{HaltID: haltID})
	setTrace(&e, rootTrace(e.ID(), e.ID()))
	return e
}

// NewFact tells what has happened. Payloads that are too large lose their longest parts until they fit into MaxData.
func NewFact(t Target, f Fact, at time.Time, parent *event.Event) event.Event {
	body := fit(f)
	e := newEvent(f.Type(), SourceFunction, t, at)
	e.SetID(fingerprint(f.Type(), t.Subject(), strconv.FormatInt(f.Sequence(), 10), parentID(parent), string(body)))
	setSequence(&e, f.Sequence())
	setData(&e, body)
	setTrace(&e, childTrace(e.ID(), parent))
	return e
}

// FormatSequence is the text of the sequence attribute. The CloudEvents sequence extension wants text that sorts like
// the numbers do, hence the padding. Any decimal number is accepted when reading.
func FormatSequence(seq int64) string { return fmt.Sprintf("%019d", seq) }

func newEvent(eventType, source string, t Target, at time.Time) event.Event {
	e := event.New(event.CloudEventsVersionV1)
	e.SetType(eventType)
	e.SetSource(source)
	e.SetSubject(t.Subject())
	e.SetTime(at.UTC())
	e.SetExtension(ExtPartitionKey, t.Subject())
	return e
}

func setSequence(e *event.Event, seq int64) { e.SetExtension(ExtSequence, FormatSequence(max(seq, 0))) }

func setData(e *event.Event, payload any) {
	body, isBytes := payload.(json.RawMessage)
	if !isBytes {
		// The payloads of this package are plain structs, which always marshal.
		body, _ = json.Marshal(payload)
	}
	_ = e.SetData(event.ApplicationJSON, []byte(body))
}

func fit(f Fact) json.RawMessage {
	for {
		body, err := json.Marshal(f)
		if err == nil && len(body) <= MaxData {
			return body
		}
		smaller, ok := f.smaller()
		if !ok {
			return body
		}
		f = smaller
	}
}

func parentID(parent *event.Event) string {
	if parent == nil || parent.Context == nil {
		return ""
	}
	return parent.ID()
}

// fingerprint hashes its parts so that no two lists of parts give the same text by accident of joining.
func fingerprint(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
