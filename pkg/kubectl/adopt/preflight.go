package adopt

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	Stop Severity = "stop" // nothing is changed
	Warn Severity = "warn" // a roll would be held back, or safety is less than it could be
	Note Severity = "note"
)

// Finding is one thing that the preflight found.
type Finding struct {
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Remedy   string   `json:"remedy,omitempty"`
}

// asIf shows the set as it will be, so that the function's own eyes can look
// at it before anything has been changed.
type asIf struct {
	fn.API
	change *change
}

// Set is the set with the change.
func (a asIf) Set(ctx context.Context, namespace, name string) (*appsv1.StatefulSet, time.Time, error) {
	set, now, err := a.API.Set(ctx, namespace, name)
	if err != nil {
		return nil, now, err
	}
	return a.change.onto(set), now, nil
}

// ConfigMap is the one that will be created, or what is there.
func (a asIf) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	if a.change.create != nil && a.change.create.Name == name {
		return a.change.create.DeepCopy(), nil
	}
	return a.API.ConfigMap(ctx, namespace, name)
}

// preflight looks at the set as if it had been adopted.
func preflight(ctx context.Context, c *access.Cluster, set *appsv1.StatefulSet, ch *change) ([]Finding, error) {
	observer := c.Observer()
	observer.API = asIf{c.API, ch}
	sight, _, err := observer.Measure(ctx, events.Target{Namespace: set.Namespace, Name: set.Name})
	if err != nil {
		return nil, access.Remedied("observe "+set.Namespace+"/"+set.Name, err)
	}
	var list []Finding
	list = append(list, shape(sight, set)...)
	list = append(list, rolling(sight.Observed, set)...)
	list = append(list, settings(sight)...)
	list = append(list, gates(sight.Observed)...)
	return append(list, template(set, sight.Budget)...), nil
}

func shape(s *fn.Sight, set *appsv1.StatefulSet) []Finding {
	var list []Finding
	if s.Set.Deleting {
		return []Finding{{Stop, "the set is being deleted", ""}}
	}
	if f := guard.Ask(guard.ShapeSupported, s.Snapshot, guard.NoVictim); !f.Passed {
		list = append(list, Finding{Stop, "shape: " + f.Measured + "; wants " + f.Threshold, roll.Explain(roll.ReasonShapeUnsupported).Remedy})
	}
	if s.Set.Strategy == guard.OnDelete {
		list = append(list, Finding{Note, "updateStrategy.type is OnDelete: there is no lock; each step is a delete by the function", "grant it with config/components/pod-delete"})
	}
	if s.Set.Management == guard.Parallel {
		list = append(list, Finding{Note, "podManagementPolicy is Parallel: only the lock keeps the controller from a second pod", "nothing; OrderedReady would be a second safeguard"})
	}
	if _, has := set.Spec.Template.Labels[events.LabelManaged]; has {
		list = append(list, Finding{Warn, "spec.template.metadata.labels has " + events.LabelManaged, "remove it there: only the set itself wants it"})
	}
	return list
}

// rolling looks at what the lock would meet.
func rolling(o roll.Observed, set *appsv1.StatefulSet) []Finding {
	before := fn.Read(set, nil, o.Now).Set
	outdated, away := 0, ""
	for i := range o.Set.Replicas {
		p := o.Pod(i)
		switch {
		case !p.Exists || p.Terminating:
			if i >= before.Partition {
				away = o.Set.PodName(i)
			}
		case p.Revision != o.Set.UpdateRevision:
			outdated++
		}
	}
	var list []Finding
	if before.Open() && away != "" && outdated > 0 {
		list = append(list, Finding{Stop, "a rolling update is under way and " + away + " is away: locked now, it would come back old", "wait until it is back and try again"})
	} else if before.Open() && outdated > 0 {
		list = append(list, Finding{Warn, fmt.Sprintf("a rolling update is under way: the lock stops it, and etcdroll goes on with the %d outdated pods", outdated), ""})
	} else if outdated > 0 {
		list = append(list, Finding{Warn, fmt.Sprintf("%d pods are outdated: a roll begins at once", outdated), "to hold it back: --paused"})
	}
	return list
}

func settings(s *fn.Sight) []Finding {
	if s.Config == nil {
		return nil
	}
	severity := Stop
	if s.Config.Reason == roll.ReasonCredentialsInvalid && strings.HasPrefix(s.Config.Message, "no right") {
		severity = Warn // ours; the function's may be another
	}
	return []Finding{{severity, string(s.Config.Reason) + ": " + s.Config.Message, roll.Explain(s.Config.Reason).Remedy}}
}

// gates are those that would hold a roll back today.
func gates(o roll.Observed) []Finding {
	verdict := roll.LookAhead(o).Verdict.Without(guard.ShapeSupported, guard.Soaked, guard.StatusCurrent)
	var list []Finding
	unread := len(o.Members) == 0
	for _, f := range verdict.Objections() {
		if unread && needsMembers(f.Gate) {
			continue
		}
		list = append(list, Finding{Warn, fmt.Sprintf("gate %s would hold a roll back: %s; wants %s", f.Gate, f.Measured, f.Threshold), ""})
	}
	if unread {
		list = append(list, Finding{Warn, "the members could not be asked, so the gates about them are not known", "see kubectl etcdroll plan once it is adopted"})
	}
	return list
}

func needsMembers(g guard.Gate) bool {
	switch g {
	case guard.OnePodInFlight, guard.DisruptionBudget, guard.TemplateLint:
		return false
	}
	return true
}
