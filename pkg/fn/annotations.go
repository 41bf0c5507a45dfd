package fn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// toStatus reads back what an earlier write told people and tools.
func toStatus(annotations map[string]string) roll.Status {
	return roll.Status{
		Phase:             roll.Phase(annotations[events.AnnotationPhase]),
		ConvergedRevision: annotations[events.AnnotationConvergedRevision],
		ConvergedToken:    annotations[events.AnnotationConverged],
		HaltedRevision:    annotations[events.AnnotationHaltedRevision],
		HaltID:            annotations[events.AnnotationHaltID],
		Reason:            roll.Reason(annotations[events.AnnotationReason]),
		Message:           annotations[events.AnnotationMessage],
	}
}

// statusAnnotations is the whole of what is written; an empty value removes
// the annotation.
func statusAnnotations(s roll.Status) map[string]string {
	return map[string]string{
		events.AnnotationPhase:             string(s.Phase),
		events.AnnotationConvergedRevision: s.ConvergedRevision,
		events.AnnotationConverged:         s.ConvergedToken,
		events.AnnotationHaltedRevision:    s.HaltedRevision,
		events.AnnotationHaltID:            s.HaltID,
		events.AnnotationReason:            string(s.Reason),
		events.AnnotationMessage:           oneLine(s.Message, messageLength),
	}
}

// messageLength is how long a message on the set may be, in characters.
const messageLength = 2000

// maxRecord is how long the record may be, in bytes. Annotations of an object
// share 256 KiB with everybody else's.
const maxRecord = 8 << 10

// parseRecord reads the rollout annotation. None is the zero record. One that
// cannot be read is the zero record and an error worth a log line: a halt is
// in annotations of its own and counts all the same.
func parseRecord(text string) (roll.Record, error) {
	if text == "" {
		return roll.Record{}, nil
	}
	var r roll.Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return roll.Record{}, fmt.Errorf("annotation %s: %w", events.AnnotationRollout, err)
	}
	if r.Seq < 0 {
		return roll.Record{}, fmt.Errorf("annotation %s: negative sequence %d", events.AnnotationRollout, r.Seq)
	}
	return r, nil
}

// encodeRecord writes the record within its size. What goes first is what
// only people read.
func encodeRecord(r roll.Record) (string, error) {
	shorten := []func(){
		func() {},
		func() {
			if r.Last != nil {
				last := *r.Last
				last.Overrides, last.Pods = nil, nil
				r.Last = &last
			}
		},
		func() { r.Last, r.Overrides = nil, nil },
		func() { r.Recent = r.Recent[max(0, len(r.Recent)-50):] },
	}
	for _, cut := range shorten {
		cut()
		text, err := json.Marshal(r)
		if err != nil {
			return "", fmt.Errorf("encode record: %w", err)
		}
		if len(text) <= maxRecord {
			return string(text), nil
		}
	}
	return "", fmt.Errorf("the record does not fit into %d bytes", maxRecord)
}

// releaseProblem refuses a token that a wait expression could not compare.
func releaseProblem(token string) *roll.ConfigProblem {
	if !strings.ContainsAny(token, "=\n") && len(token) <= maxToken {
		return nil
	}
	return invalid("annotation %s: %s holds \"=\", a line break or more than %d characters; use a plain token such as a commit hash",
		events.AnnotationRelease, quoted(token), maxToken)
}

const maxToken = 256

// invalid is a configuration problem in one sentence.
func invalid(format string, args ...any) *roll.ConfigProblem {
	return &roll.ConfigProblem{Reason: roll.ReasonConfigInvalid, Message: fmt.Sprintf(format, args...)}
}

// quoted makes a value from outside safe and short enough for a message.
func quoted(value string) string {
	return fmt.Sprintf("%q", oneLine(value, 80))
}

// firstProblem is the first that is not nil.
func firstProblem(problems ...*roll.ConfigProblem) *roll.ConfigProblem {
	i := slices.IndexFunc(problems, func(p *roll.ConfigProblem) bool { return p != nil })
	if i < 0 {
		return nil
	}
	return problems[i]
}
