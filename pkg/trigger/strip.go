package trigger

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// named is enough of an object for client-go to tell it and its versions apart. All else is that of an empty one.
type named struct {
	metav1.Object
	namespace, name, version string
}

func nameOf(o metav1.Object) named {
	return named{empty, o.GetNamespace(), o.GetName(), o.GetResourceVersion()}
}

var empty metav1.Object = &metav1.ObjectMeta{} // read only

// GetNamespace is half of the object's key.
func (n named) GetNamespace() string { return n.namespace }

// GetName is the other half.
func (n named) GetName() string { return n.name }

// GetResourceVersion is the object's version.
func (n named) GetResourceVersion() string { return n.version }

// strippedSet is what is kept of a set: the template alone would be nine tenths of the memory.
type strippedSet struct {
	named
	view SetView
}

// strippedPod is what is kept of a pod: its place below a set by its name, and what is judged if a set of that name
// controls it.
type strippedPod struct {
	named
	set   string // key; empty if the name has no ordinal
	owned bool
	held  heldPod
}

func stripSet(obj any) (*strippedSet, error) {
	switch set := obj.(type) {
	case *strippedSet:
		return set, nil
	case *appsv1.StatefulSet:
		view := viewOfSet(set)
		view.shareTexts()
		return &strippedSet{nameOf(set), view}, nil
	}
	return nil, fmt.Errorf("a watch of sets brings %T", obj)
}

func stripPod(obj any) (*strippedPod, error) {
	switch pod := obj.(type) {
	case *strippedPod:
		return pod, nil
	case *metav1.PartialObjectMetadata:
		kept := &strippedPod{named: nameOf(pod)}
		set, ordinal, ok := placeOf(pod.Name)
		if !ok {
			return kept, nil
		}
		kept.set, kept.held.ordinal = pod.Namespace+"/"+set, ordinal
		name, uid, owned := ownerSet(pod)
		if !owned || name != set {
			return kept, nil
		}
		kept.owned = true
		kept.held.uid, kept.held.owner, kept.held.version = string(pod.UID), uid, pod.ResourceVersion
		kept.held.revision, kept.held.terminating = pod.Labels[events.PodRevisionLabel], pod.DeletionTimestamp != nil
		return kept, nil
	}
	return nil, fmt.Errorf("a watch of pods brings %T", obj)
}

// placeOf splits a pod's name into the set's and the ordinal. The set's own name may hold digits and dashes.
func placeOf(pod string) (set string, ordinal int32, ok bool) {
	at := strings.LastIndexByte(pod, '-')
	if at < 0 {
		return "", 0, false
	}
	ordinal, ok = ordinalOf(pod[:at], pod)
	return pod[:at], ordinal, ok
}

// shareTexts uses one text for what mostly is the same: at rest, all revisions are, and the phase is a word of ours.
func (s *SetView) shareTexts() {
	s.CurrentRevision = same(s.CurrentRevision, s.UpdateRevision)
	s.ConvergedRevision = same(s.ConvergedRevision, s.UpdateRevision)
	s.HaltedRevision = same(s.HaltedRevision, s.UpdateRevision)
	for _, phase := range []string{events.PhaseConverged, events.PhaseRolling, events.PhaseBlocked, events.PhaseHalted, events.PhasePaused} {
		s.Phase, s.Reason = same(s.Phase, phase), same(s.Reason, phase)
	}
	s.Converged = same(s.Converged, s.Release)
}
