package fn

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// recordTime bounds the writing of all Events of one step.
const recordTime = time.Second

// noteLength is what the API server accepts.
const noteLength = 1000

// happening is one Event of kubectl describe.
type happening struct {
	reason, action, note string
	warning              bool
}

// happenings are what the write of a visit brought about.
func (v *Visit) happenings() []happening {
	if !v.wrote() {
		return nil
	}
	d := v.Decision
	var list []happening
	add := func(reason, action string, warning bool) {
		list = append(list, happening{reason, action, d.Message, warning})
	}
	// That the leader has moved is known, and written, one look after the call.
	if d.Write.Record.Moves > v.Sight.Record.Moves {
		leader, term := leaderAndTerm(v.Sight.Snapshot)
		if i := v.Sight.LeaderIndex(); i >= 0 {
			leader = fmt.Sprintf("%s (member %s)", v.Sight.Set.PodName(i), leader)
		}
		list = append(list, happening{"LeaderMoved", "MoveLeader", fmt.Sprintf("%s leads in term %s", leader, term), false})
	}
	switch {
	case d.Step == roll.StepRecover, d.Step == roll.StepDelete && d.Reason == roll.ReasonRecovered:
		add("Recovered", "Delete", true)
	case d.Step == roll.StepRelease, d.Step == roll.StepDelete:
		add("PodReleased", "Release", false)
	case d.Step == roll.StepLock:
		// A set that is still forming may well have come open.
		add("Relocked", "Lock", d.Reason != roll.ReasonRelocked && v.Sight.HasFormed())
	}
	switch d.Outcome {
	case roll.Blocked:
		add("Blocked", "Wait", true)
	case roll.Halted:
		add("Halted", "Halt", true)
	case roll.Converged:
		add("Converged", "Converge", false)
	}
	return list
}

// kubeEvent is the object. Its name is made of the sequence, which only one
// write can have, so an Event that is there already has been told.
func (v *Visit) kubeEvent(h happening, at time.Time, instance string) *eventsv1.Event {
	set := v.Sight.set
	kind := corev1.EventTypeNormal
	if h.warning {
		kind = corev1.EventTypeWarning
	}
	e := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace,
			Name:      fmt.Sprintf("%s.%.8s.%d.%s", set.Name, string(set.UID), v.seq(), strings.ToLower(h.reason)),
		},
		EventTime:           metav1.NewMicroTime(at),
		ReportingController: "etcdroll.dev/roll-fn",
		ReportingInstance:   instance,
		Action:              h.action,
		Reason:              h.reason,
		Type:                kind,
		Note:                oneLine(v.because(h), noteLength),
		Regarding: corev1.ObjectReference{
			APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: set.Namespace, Name: set.Name, UID: set.UID,
		},
	}
	if pod := v.pod(); pod != "" {
		e.Related = &corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: set.Namespace, Name: pod, UID: types.UID(v.Sight.Pod(v.Decision.Victim).UID),
		}
	}
	return e
}

// because leads with the decision's reason, where the Event tells of the decision
// and its own reason does not say it.
func (v *Visit) because(h happening) string {
	if reason := string(v.Decision.Reason); reason != h.reason && h.note == v.Decision.Message {
		return reason + ": " + h.note
	}
	return h.note
}

// recordEvents writes the Events. They are for people: one that cannot be
// written costs a log line and never the step.
func recordEvents(ctx context.Context, api API, v *Visit, at time.Time, instance string, log *slog.Logger) {
	list := v.happenings()
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	for _, h := range list {
		err := api.RecordEvent(ctx, v.kubeEvent(h, at, instance))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			log.Warn("an Event was not written", "set", v.Sight.Target.String(), "event", h.reason, "error", oneLine(err.Error(), 300))
		}
	}
}
