package events

import (
	"regexp"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Trace is a W3C trace context. The zero value is no trace.
type Trace struct {
	// Parent is "00-<trace id>-<span id>-<flags>".
	Parent string
	// State is the vendors' list, carried unread.
	State string
}

var traceParent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

const maxTraceState = 512

// traceOf reads the trace context of an event and drops whatever is not well formed: a broken trace must not stop a
// roll.
func traceOf(e event.Event) Trace {
	parent, _ := extension(e, ExtTraceParent)
	if !traceParent.MatchString(parent) {
		return Trace{}
	}
	t := Trace{Parent: parent}
	if state, _ := extension(e, ExtTraceState); len(state) <= maxTraceState && !strings.ContainsAny(state, "\r\n") {
		t.State = state
	}
	return t
}

// rootTrace begins in the trace of what the event is about: every question about one roll of a set to one revision is
// in the same trace, whichever of them a step came of. The span's id is derived from the event's, so that a repeated
// event stays where it was.
func rootTrace(about, id string) Trace {
	return Trace{Parent: "00-" + fingerprint("trace", about) + "-" + fingerprint("span", id)[:16] + "-01"}
}

// childTrace goes on from the event being answered, or starts a trace if that one has none.
func childTrace(id string, parent *event.Event) Trace {
	if parent == nil || parent.Context == nil {
		return rootTrace(id, id)
	}
	from := traceOf(*parent)
	if from.Parent == "" {
		return rootTrace(id, id)
	}
	version, flags := from.Parent[:36], from.Parent[52:]
	return Trace{Parent: version + fingerprint("span", id)[:16] + flags, State: from.State}
}

func setTrace(e *event.Event, t Trace) {
	if t.Parent == "" {
		return
	}
	e.SetExtension(ExtTraceParent, t.Parent)
	if t.State != "" {
		e.SetExtension(ExtTraceState, t.State)
	}
}
